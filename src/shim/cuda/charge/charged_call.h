/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one driver call that allocates memory, together with its charge: reserve, call, settle.
 *
 *      struct charged_call call = charged_call_begin(place, out_of(ret), bytes);
 *
 *      while (charged_call_goes_on(&call))
 *              call.rc = real.cuMemAllocManaged(ret, bytes, flags);
 *      return charged_call_settle(&call, SPACE_POINTER);
 *
 * charged_call_goes_on() allows one driver call. It allows another one while the driver reports out
 * of memory for a granted request and memory of a dead process is still draining. If the limit
 * refuses the request, the driver is not called, `rc` is the program's result, and nothing is
 * charged. Any thread.
 */
#ifndef ALIQUOT_SHIM_CUDA_CHARGE_CHARGED_CALL_H
#define ALIQUOT_SHIM_CUDA_CHARGE_CHARGED_CALL_H

#include <stddef.h>

#include "shim/cuda/charge/reserve.h"

/* The program's output parameter, to which the driver writes a handle or an address of 4 or 8
 * bytes. Borrowed until the call is settled. */
struct out {
        const void *at; /* NULL: the program gave no output parameter */
        size_t bytes;
};
#define out_of(ret) ((struct out){ (ret), sizeof(*(ret)) })

/* Returns the handle or address that the driver wrote to `ret`, as a key. 0: `ret.at` is NULL. */
uint64_t out_key(struct out ret);

/* A driver call in progress, and its charge. */
struct charged_call {
        struct charge charge;
        struct place place;
        struct out ret;
        CUresult rc;      /* the refusal, or the result of the last driver call */
        bool is_called;   /* the limit granted the request, so the driver was called */
        unsigned attempt; /* counter for is_draining() */
        void *turn;       /* context creation only: the lock that serialises it (context_size.h) */
};

/* Reserves `bytes` on `place`. If the limit refuses them, `rc` is the refusal. */
struct charged_call charged_call_begin(struct place place, struct out ret, uint64_t bytes);

/* Whether to call the driver now. After the call, the caller stores the driver's result in `rc`. */
static inline bool charged_call_goes_on(struct charged_call *call)
{
        if (call->is_called)
                return is_draining(&call->charge, call->rc, &call->attempt);
        call->is_called = call->rc == CUDA_SUCCESS;
        return call->is_called;
}

/* Returns the handle or address that the driver wrote, as a key. 0: the driver failed, or it
 * reported success although the program gave no output parameter. */
static inline uint64_t charged_call_key(const struct charged_call *call)
{
        return call->rc == CUDA_SUCCESS ? out_key(call->ret) : 0;
}

/* Corrects the charge to `bytes`, the size that the driver reports for the new allocation. An empty
 * charge stays empty. False: `bytes` is more than was reserved and the limit refuses it; `rc` is
 * the refusal. Then the caller frees the memory in the driver and calls charged_call_settle(). */
bool charged_call_correct(struct charged_call *call, uint64_t bytes);

/* Keeps the charge under `space` and charged_call_key() if the driver succeeded, else releases it.
 * Returns the program's result. */
CUresult charged_call_settle(struct charged_call *call, enum charge_space space);

#endif
