/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reserves a charge before a driver call that allocates memory, and settles it afterwards.
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
 * A refusal is CUDA_ERROR_OUT_OF_MEMORY if the limit refuses the request; the driver's own error if
 * it does not report the current device (CUDA_ERROR_INVALID_CONTEXT without a context);
 * CUDA_ERROR_NOT_PERMITTED if the session is broken or the card is unknown. Before the limit
 * refuses, unused memory of the driver's pools is released (meter.h), as the driver itself does
 * when a card is full.
 */
#ifndef ALIQUOT_SHIM_CUDA_CHARGE_RESERVE_H
#define ALIQUOT_SHIM_CUDA_CHARGE_RESERVE_H

#include "shim/charge.h"
#include "shim/cuda/place/front.h"
#include "shim/room.h"

/* Reserves `bytes` on `place`. Returns CUDA_SUCCESS, or the refusal as the program's result; `ret`
 * is then empty. */
CUresult reserve_at(struct charge *ret, struct place place, uint64_t bytes);

/* As reserve_at(), for a caller that can use other memory instead: does not count the refusal. */
CUresult reserve_at_first(struct charge *ret, struct place place, uint64_t bytes);

/* As reserve_at(), for a caller that holds a lock: does not wait for room on the card, and does not
 * count the refusal. If refused, the caller drops its lock and calls reserve_again(). */
CUresult reserve_at_once(struct charge *ret, struct place place, uint64_t bytes);

/* As reserve_at(), for swappable memory. Only in a session that swaps, for the session's card. */
CUresult reserve_swappable(struct charge_swappable *ret, struct place place, uint64_t bytes);

/*
 * After a refusal: waits a little if other sessions can make room on the card. Call it in a hook
 * that began with access_begin() or the like. While it waits, this thread does not delay a hold of
 * the session (hold.h). True: try again.
 */
bool reserve_await(struct room_wait *wait, struct room_want *want);

/* As reserve_await(), after reserve_at_once(). Counts the refusal if there is no other try. */
bool reserve_again(struct room_wait *wait, struct place place, uint64_t bytes);

static inline CUresult reserve(struct charge *ret, uint64_t bytes)
{
        return reserve_at(ret, place_here(), bytes);
}

/* Keeps the charge under a key if the driver succeeded, else releases it. Returns `rc`. */
CUresult settle(struct charge *charge, CUresult rc, enum charge_space space, uint64_t key);

/* Settles a free whose charge was taken out before: releases the charge, or puts it back under its
 * key if the driver failed. Returns `rc`. */
CUresult settle_free(struct charge *taken, CUresult rc, enum charge_space space, uint64_t key);

/* Whether to call the driver again: it reports out of memory for a granted request while memory of
 * a dead process is still draining; this function waited a little for that. `*attempt` counts from
 * 0. */
static inline bool is_draining(const struct charge *charge, CUresult rc, unsigned *attempt)
{
        return rc == CUDA_ERROR_OUT_OF_MEMORY && charge_wait_for_drain(charge, (*attempt)++);
}

/* The handle or address that the driver wrote to `ret`, as a key; 0 if the driver failed, or if
 * `ret` is NULL. */
#define key_at(rc, ret)                                                             \
        ({                                                                          \
                __typeof__(ret) key_ret = (ret);                                    \
                (rc) == CUDA_SUCCESS &&key_ret ? (uint64_t)(uintptr_t)*key_ret : 0; \
        })

#endif
