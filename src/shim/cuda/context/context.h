/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ends of contexts have in common. Any thread.
 */
#ifndef ALIQUOT_SHIM_CUDA_CONTEXT_CONTEXT_H
#define ALIQUOT_SHIM_CUDA_CONTEXT_CONTEXT_H

#include <stdint.h>

/* What was made in the context with this number went with it. */
void context_owner_gone(uint32_t owner);

#endif
