/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every hook of the CUDA front end is made of.
 *
 *      struct charge charge;
 *      unsigned attempt = 0;
 *      CUresult rc = reserve(&charge, bytes);          // else: what the program is told
 *
 *      if (rc != CUDA_SUCCESS)
 *              return rc;
 *      do
 *              rc = real.cuMemAlloc_v2(ret, bytes);
 *      while (is_draining(&charge, rc, &attempt));
 *      return settle(&charge, rc, SPACE_POINTER, key_at(rc, ret));
 *
 * A *place* is where memory of the calling thread goes: the row of its current context's device,
 * and the context's number, under which everything that dies with the context is kept. A process
 * without a session is nowhere: every verb then does nothing and the driver answers for itself. In
 * a session, who is nowhere gets nothing: without a context, or where the driver does not say
 * whose memory it would be, the driver is not asked for any.
 *
 * Refused is CUDA_ERROR_OUT_OF_MEMORY when the limit says so, the driver's own answer when it does
 * not say where we are (CUDA_ERROR_INVALID_CONTEXT without a context), CUDA_ERROR_NOT_PERMITTED
 * when the session is broken or the card cannot be told. Before the limit refuses, memory that the
 * driver's pools hold unused is given back (meter.h), as the driver itself does when a card is
 * full.
 */
#ifndef ALIQUOT_SHIM_CUDA_FRONT_H
#define ALIQUOT_SHIM_CUDA_FRONT_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "shim/charge.h"
#include "shim/session.h"

struct place {
        int row;         /* of the page; CHARGE_NO_DEVICE; SESSION_NO_ROW: refuse */
        uint32_t owner;  /* the context's number; 0 = none */
        CUdevice device; /* -1 if row is none */
        CUresult answer; /* with SESSION_NO_ROW: the driver's own, if it has one; else 0 */
};

/* What stream 0 is, by the entry point's family. */
static inline CUstream legacy(CUstream stream)
{
        return stream ? stream : CU_STREAM_LEGACY;
}

static inline CUstream per_thread(CUstream stream)
{
        return stream ? stream : CU_STREAM_PER_THREAD;
}

extern const struct place place_nowhere;

struct place place_here(void);

/* Of a context, which need not be current; and of a stream's. */
struct place place_of_context(CUcontext context);
struct place place_of_stream(CUstream stream);

/* Of a device, for what belongs to no context. An ordinal the driver does not know: nowhere. */
struct place place_of_device(CUdevice device);

/* Where memory at a location is. */
enum site {
        SITE_CARD,
        SITE_ELSEWHERE, /* on the host, or on no card that this process has */
        SITE_UNKNOWN    /* a kind of location from after our table */
};

/* `ret` is the card with SITE_CARD: as the program said it, the driver may know no such card. */
enum site site_of(const CUmemLocation *location, CUdevice *ret);

/* A context that was just made on `place`: gives it a number. Idempotent. */
struct place place_seated(CUcontext context, struct place place);

/* The context is about to be destroyed: from here on its handle may mean another one. Returns its
 * number for charge_drop_owner(). place_restore() when the driver refused to destroy it. */
struct place place_forget(CUcontext context);
void place_restore(CUcontext context, struct place place);

/* What the program is told of a place with SESSION_NO_ROW. */
CUresult refusal(struct place place);

/* Grants, or says what to tell the program. `ret` is empty after a refusal. */
CUresult reserve_at(struct charge *ret, struct place place, uint64_t bytes);

static inline CUresult reserve(struct charge *ret, uint64_t bytes)
{
        return reserve_at(ret, place_here(), bytes);
}

/* Keeps the charge under a key if the driver said yes, else gives it back. Returns `rc`. */
CUresult settle(struct charge *charge, CUresult rc, enum charge_space space, uint64_t key);

/* For a release: the block was taken out first; put it back if the driver said no. */
CUresult settle_free(struct charge *taken, CUresult rc, enum charge_space space, uint64_t key);

/* The driver has no memory for what was granted: it is called again while bytes of a dead process
 * drain, which this waits for a little. `*attempt` counts from 0. */
static inline bool is_draining(const struct charge *charge, CUresult rc, unsigned *attempt)
{
        return rc == CUDA_ERROR_OUT_OF_MEMORY && charge_wait_for_drain(charge, (*attempt)++);
}

/* A stream, with the default one spelt out, as one number; the default stream of a thread has one
 * handle for all threads, and a number for each. Never 0. */
uint64_t stream_key(CUstream stream);

static inline uint64_t key_of(const void *handle)
{
        return (uint64_t)(uintptr_t)handle;
}

/* What the driver left at `ret` as a key, if it said yes. A driver that says yes to nowhere to
 * leave it is not believed. */
#define key_at(rc, ret)                                                             \
        ({                                                                          \
                __typeof__(ret) key_ret = (ret);                                    \
                (rc) == CUDA_SUCCESS &&key_ret ? (uint64_t)(uintptr_t)*key_ret : 0; \
        })

/* There may be something to charge: false only when nothing was asked of us. */
static inline bool front_is_on(void)
{
        return session_state() != SESSION_NONE;
}

/* What this process is charged on a row, all in all. */
uint64_t front_own_bytes(int row);

/* Starts the session if this is the first call of all. True unless it is broken. */
bool front_start(void);

#endif
