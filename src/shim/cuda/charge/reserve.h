/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common parts of every hook that allocates or frees memory.
 *
 *      struct charge charge;
 *      unsigned attempt = 0;
 *      CUresult rc = reserve(&charge, bytes);          // an error is the program's result
 *
 *      if (rc != CUDA_SUCCESS)
 *              return rc;
 *      do
 *              rc = real.cuMemAlloc_v2(ret, bytes);
 *      while (is_draining(&charge, rc, &attempt));
 *      return settle(&charge, rc, SPACE_POINTER, key_at(rc, ret));
 *
 * A refusal is CUDA_ERROR_OUT_OF_MEMORY because of the limit; the driver's own error if it does not
 * report the current device (CUDA_ERROR_INVALID_CONTEXT without a context);
 * CUDA_ERROR_NOT_PERMITTED if the session is broken or the card is unknown. Before the limit
 * refuses, unused memory of the driver's pools is released (meter.h), as the driver itself does
 * when a card is full.
 */
#ifndef ALIQUOT_SHIM_CUDA_CHARGE_RESERVE_H
#define ALIQUOT_SHIM_CUDA_CHARGE_RESERVE_H

#include "shim/charge.h"
#include "shim/cuda/place/front.h"
#include "shim/room.h"

/* Grants, or returns the program's result. `ret` is empty after a refusal. */
CUresult reserve_at(struct charge *ret, struct place place, uint64_t bytes);

/* As reserve_at(), for a caller that has another way: does not count the refusal. */
CUresult reserve_at_first(struct charge *ret, struct place place, uint64_t bytes);

/* As reserve_at(), for a caller that holds a lock: does not wait for room on the card, and does not
 * count the refusal. A caller that is refused drops its lock and calls reserve_await(). */
CUresult reserve_at_once(struct charge *ret, struct place place, uint64_t bytes);

/* As reserve_at(), for swappable memory. Only in a session that swaps, on its card. */
CUresult reserve_swappable(struct charge_swappable *ret, struct place place, uint64_t bytes);

/*
 * After a refusal, in a hook that began with access_begin() or the like: waits a little if other
 * sessions can make room on the card. A hold does not wait for this thread meanwhile. True: try
 * again.
 */
bool reserve_await(struct room_wait *wait, struct room_want *want);

/* As reserve_await(), after reserve_at_once(): counts a refusal that stands. */
bool reserve_again(struct room_wait *wait, struct place place, uint64_t bytes);

static inline CUresult reserve(struct charge *ret, uint64_t bytes)
{
        return reserve_at(ret, place_here(), bytes);
}

/* Keeps the charge under a key if the driver succeeded, else releases it. Returns `rc`. */
CUresult settle(struct charge *charge, CUresult rc, enum charge_space space, uint64_t key);

/* For a release: the block was taken out before; puts it back if the driver failed. */
CUresult settle_free(struct charge *taken, CUresult rc, enum charge_space space, uint64_t key);

/* Whether to call the driver again: it has no memory for a granted request while bytes of a dead
 * process drain; this waits a little for them. `*attempt` counts from 0. */
static inline bool is_draining(const struct charge *charge, CUresult rc, unsigned *attempt)
{
        return rc == CUDA_ERROR_OUT_OF_MEMORY && charge_wait_for_drain(charge, (*attempt)++);
}

/* The value that the driver wrote to `ret`, as a key, if it succeeded. A success without a place to
 * write counts as a failure. */
#define key_at(rc, ret)                                                             \
        ({                                                                          \
                __typeof__(ret) key_ret = (ret);                                    \
                (rc) == CUDA_SUCCESS &&key_ret ? (uint64_t)(uintptr_t)*key_ret : 0; \
        })

#endif
