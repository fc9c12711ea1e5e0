/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prototypes of the function bodies that are written by hand, from the table. Generated.
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
