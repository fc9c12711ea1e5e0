/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call by which the driver allocates, and its charge: reserve, call, settle.
 *
 *      struct charged_call call = charged_call_begin(place, out_of(ret), bytes);
 *
 *      while (charged_call_goes_on(&call))
 *              call.rc = real.cuMemAllocManaged(ret, bytes, flags);
 *      return charged_call_settle(&call, SPACE_POINTER);
 *
 * The driver is called once, and again while it has no memory for what was granted and bytes of a
 * dead process drain. It is not called at all where the limit refuses: then `rc` is what the
 * program is told, and nothing is charged. Any thread.
 */
#ifndef ALIQUOT_SHIM_CUDA_CHARGE_CHARGED_CALL_H
#define ALIQUOT_SHIM_CUDA_CHARGE_CHARGED_CALL_H

#include <stddef.h>

#include "shim/cuda/charge/reserve.h"

/* Where the driver leaves a handle or an address of 4 or 8 bytes; borrowed until the call is
 * settled. */
struct out {
        const void *at; /* NULL: the program gave no place for it */
        size_t bytes;
};
#define out_of(ret) ((struct out){ (ret), sizeof(*(ret)) })

/* What the driver left there, as a key; 0: no place. */
uint64_t out_key(struct out ret);

struct charged_call {
        struct charge charge;
        struct place place;
        struct out ret;
        CUresult rc;      /* the refusal, or the driver's last answer */
        bool is_called;   /* false in the end: refused */
        unsigned attempt; /* is_draining() */
        void *turn;       /* of a context that is made (context_size.h) */
};

struct charged_call charged_call_begin(struct place place, struct out ret, uint64_t bytes);

/* True: call the driver, and leave its answer in `rc`. */
static inline bool charged_call_goes_on(struct charged_call *call)
{
        if (call->is_called)
                return is_draining(&call->charge, call->rc, &call->attempt);
        call->is_called = call->rc == CUDA_SUCCESS;
        return call->is_called;
}

/* What the driver left, as a key; 0 if it said no. A driver that says yes to nowhere to leave it is
 * not believed. */
static inline uint64_t charged_call_key(const struct charged_call *call)
{
        return call->rc == CUDA_SUCCESS ? out_key(call->ret) : 0;
}

/* The driver says that it took `bytes`: that becomes the charge, unless it was for nothing. False:
 * it is more, and is refused; `rc` says so. The caller gives the memory back, and settles. */
bool charged_call_correct(struct charged_call *call, uint64_t bytes);

/* Keeps the charge under that key, or gives it back. Returns what the program is told. */
CUresult charged_call_settle(struct charged_call *call, enum charge_space space);

#endif
