/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declares the function bodies that are written by hand. The prototypes are in a header that
 * gen-cudart generates from cudart.api.
 */
#ifndef ALIQUOT_CUDART_HAND_H
#define ALIQUOT_CUDART_HAND_H

#include "cudart/driver.h"

#if CUDART_MAJOR == 12
#include "cudart/so12/bodies.h"
#else
#include "cudart/so13/bodies.h"
#endif

#endif
