/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions shared by context.c and primary.c only.
 */
#ifndef ALIQUOT_SIM_CONTEXT_CONTEXT_INTERNAL_H
#define ALIQUOT_SIM_CONTEXT_CONTEXT_INTERNAL_H

#include "sim/context/context.h"

/* Allocates a context that has not begun, which counts as destroyed. NULL: out of memory. */
CUcontext context_alloc(CUdevice device, bool is_primary);

/* Takes the context's memory and begins the context, without any state of an earlier beginning. It
 * becomes current in no thread. */
CUresult context_begin(CUcontext context, unsigned flags);

/* Ends all that the context owns; its struct stays. Only the first call after context_begin() does
 * anything. */
void context_end(CUcontext context);

#endif
