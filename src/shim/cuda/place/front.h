/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where memory of the calling thread goes, and the start of the session.
 *
 * A *place* is the row of its current context's device, and the context's number, under which
 * everything that dies with the context is kept. Without a session every verb is a no-op and the
 * driver answers for itself. In a session, an allocation whose device cannot be determined (no
 * current context, or the driver does not say which device) is refused; the driver is not asked.
 */
#ifndef ALIQUOT_SHIM_CUDA_PLACE_FRONT_H
#define ALIQUOT_SHIM_CUDA_PLACE_FRONT_H

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

/* `ret` is the card with SITE_CARD: the program's number, even if the driver has no such card. */
enum site site_of(const CUmemLocation *location, CUdevice *ret);

/* A context that was just made on `place`: gives it a number. Idempotent. */
struct place place_seated(CUcontext context, struct place place);

/* The context is about to be destroyed: from here on its handle may mean another one. Returns its
 * number for charge_drop_owner(). place_restore() when the driver refused to destroy it. */
struct place place_forget(CUcontext context);
void place_restore(CUcontext context, struct place place);

/* What the program is told of a place with SESSION_NO_ROW. */
CUresult refusal(struct place place);

/* A stream, with the default one spelt out, as one number; the default stream of a thread has one
 * handle for all threads, and a number for each. Never 0. */
uint64_t stream_key(CUstream stream);

static inline uint64_t key_of(const void *handle)
{
        return (uint64_t)(uintptr_t)handle;
}

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
