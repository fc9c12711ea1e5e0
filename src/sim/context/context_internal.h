/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between context.c and primary.c only.
 */
#ifndef ALIQUOT_SIM_CONTEXT_CONTEXT_INTERNAL_H
#define ALIQUOT_SIM_CONTEXT_CONTEXT_INTERNAL_H

#include "sim/context/context.h"

/* Allocates a context that has not begun, which counts as destroyed. NULL without memory. */
CUcontext context_alloc(CUdevice device, bool is_primary);

/* Takes the context's memory and begins its life; it is current nowhere and keeps nothing of an
 * earlier life. */
CUresult context_begin(CUcontext context, unsigned flags);

/* Ends all that the context owns. Its struct stays. Once a life; later calls do nothing. */
void context_end(CUcontext context);

#endif
