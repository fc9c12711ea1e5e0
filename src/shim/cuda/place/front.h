/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds where an allocation of the calling thread is charged, and starts the session.
 *
 * A *place* is the session's row for the device of the thread's current context, with that
 * context's number; charges that end with the context are kept under the number. Without a session
 * every function here does nothing, and the driver's answers stand. In a session, an allocation is
 * refused without asking the driver if its device cannot be determined (no current context, or the
 * driver does not report the device).
 */
#ifndef ALIQUOT_SHIM_CUDA_PLACE_FRONT_H
#define ALIQUOT_SHIM_CUDA_PLACE_FRONT_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "shim/charge.h"
#include "shim/session.h"

struct place {
        /* Row of the session's page, or CHARGE_NO_DEVICE; SESSION_NO_ROW: refuse. */
        int row;
        uint32_t owner;  /* number of the context; 0: none */
        CUdevice device; /* -1 if there is no row */
        /* With SESSION_NO_ROW: the driver's own error if it reported one; else 0. */
        CUresult answer;
};

/* Return the stream that handle 0 stands for: legacy() for ordinary entry points, and per_thread()
 * for those with the suffix _ptsz or _ptds. */
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

/* Return the place of a context, which need not be current, and of the context of a stream. */
struct place place_of_context(CUcontext context);
struct place place_of_stream(CUstream stream);

/* Returns the place of a device, for memory that belongs to no context. place_nowhere if the driver
 * has no device with this ordinal. */
struct place place_of_device(CUdevice device);

/* Kind of a memory location. */
enum site {
        SITE_CARD,
        SITE_ELSEWHERE, /* on the host, or on no card that this process sees */
        SITE_UNKNOWN    /* a location type that this version does not know */
};

/* Finds the kind of a memory location. With SITE_CARD, `ret` is the device number that the program
 * gave, even if the driver has no such device. */
enum site site_of(const CUmemLocation *location, CUdevice *ret);

/* Gives the context that was just created on `place` a number. Returns the place with that number;
 * a second call returns the same. */
struct place place_seated(CUcontext context, struct place place);

/* Forgets a context that is about to be destroyed, because the driver may then reuse the handle.
 * Returns its place; pass the owner number to charge_drop_owner(). If the driver refuses to destroy
 * the context, call place_restore(). */
struct place place_forget(CUcontext context);
void place_restore(CUcontext context, struct place place);

/* Returns the program's result for a place with SESSION_NO_ROW. */
CUresult refusal(struct place place);

/* Returns a number for a stream, for which CU_STREAM_LEGACY or CU_STREAM_PER_THREAD must stand for
 * a default stream. CU_STREAM_PER_THREAD is one handle for all threads, but has another number in
 * each thread. Never 0. */
uint64_t stream_key(CUstream stream);

static inline uint64_t key_of(const void *handle)
{
        return (uint64_t)(uintptr_t)handle;
}

/* Whether there may be anything to charge. False only if this process is known to have no
 * session. */
static inline bool front_is_on(void)
{
        return session_state() != SESSION_NONE;
}

/* Returns the bytes that are charged to this process on a row, in total. */
uint64_t front_own_bytes(int row);

/* Starts the session if it is not started yet. False if the session is broken. */
bool front_start(void);

#endif
