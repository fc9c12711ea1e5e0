/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks that create and destroy contexts: the memory that a context takes on its card, and what
 * ends with it.
 *
 * A context's own memory is charged as context_size.h says. Memory, arrays and modules belong to
 * the context in which they were created. When the context is destroyed, their charges, which are
 * kept under the context's number, are released too.
 *
 * gen-api makes the hooks `context` and `context_destroy` from the functions here, as cuda.api
 * says. Any thread.
 */
#ifndef ALIQUOT_SHIM_CUDA_CONTEXT_CONTEXT_H
#define ALIQUOT_SHIM_CUDA_CONTEXT_CONTEXT_H

#include <stdint.h>

#include "shim/cuda/charge/charged_call.h"

/* `ret` is the parameter to which the driver writes the new context. */
struct charged_call context_begin(struct out ret, CUdevice device);
CUresult context_end(struct charged_call *call);

/* A context that is being destroyed. From the beginning on, no thread finds its place or its
 * charge. */
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

/* Releases everything that was created in the destroyed context with this number. */
void context_owner_gone(uint32_t owner);

#endif
