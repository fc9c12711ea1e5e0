/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between context.c and primary.c only.
 */
#ifndef ALIQUOT_SIM_CONTEXT_CONTEXT_INTERNAL_H
#define ALIQUOT_SIM_CONTEXT_CONTEXT_INTERNAL_H

#include "sim/context/context.h"

/* Takes the context's memory and makes it, current nowhere. */
CUresult context_make(CUdevice device, unsigned flags, bool is_primary, CUcontext *ret);

/* Ends all that the context owns. Its struct stays. Once; later calls do nothing. */
void context_end(CUcontext context);

#endif
