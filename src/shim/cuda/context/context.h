/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts: what one takes of the card, and what goes with it.
 *
 * A context's own memory is charged as context_size.h says. Memory, arrays and modules belong to
 * the context they were made in: when it is destroyed they are given back with it, under its
 * number.
 *
 * cuda.api makes the hooks of `context` and `context_destroy`. Any thread.
 */
#ifndef ALIQUOT_SHIM_CUDA_CONTEXT_CONTEXT_H
#define ALIQUOT_SHIM_CUDA_CONTEXT_CONTEXT_H

#include <stdint.h>

#include "shim/cuda/charge/charged_call.h"

/* `ret` is where the program wants the new context. */
struct charged_call context_begin(struct out ret, CUdevice device);
CUresult context_end(struct charged_call *call);

/* A context that is being destroyed: found by nobody from begin on. */
struct context_ending {
        CUcontext context;
        struct place place;
        struct charge charge;
};

struct context_destroy {
        struct context_ending ending;
        uint64_t began_ns;
};

struct context_destroy context_destroy_begin(CUcontext context);
CUresult context_destroy_end(struct context_destroy *destroy, CUresult rc);

/* What was made in the context with this number went with it. */
void context_owner_gone(uint32_t owner);

#endif
