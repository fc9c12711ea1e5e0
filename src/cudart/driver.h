/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declares struct driver, which has a typed slot for each driver function that the runtime calls.
 * The struct is in a header that gen-cudart generates.
 */
#ifndef ALIQUOT_CUDART_DRIVER_H
#define ALIQUOT_CUDART_DRIVER_H

#include "cudart/types.h"

#if CUDART_MAJOR == 12
#include "cudart/so12/slots.h"
#else
#include "cudart/so13/slots.h"
#endif

#endif
