/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events: a point in a stream, its time, and the waits for it.
 *
 * Each record raises `recorded`; when the stream reaches it, `completed` and `end_ns` follow. A
 * wait is for the latest record at the time of the call, which a later record in another stream may
 * overtake. The state is in the event, or, for interprocess events, in a file that several
 * processes map; records of these are assumed to complete in order.
 */
#ifndef ALIQUOT_SIM_EXEC_EVENT_H
#define ALIQUOT_SIM_EXEC_EVENT_H

#include "abi/cuda.h"
#include "common/atomic.h"
#include "sim/context/context.h"

#define EVENT_MAGIC 0x45766e74u

struct event_state {
        _Atomic uint64_t recorded;  /* recording calls */
        _Atomic uint64_t completed; /* the latest there is: end_ns is from this record */
        _Atomic uint64_t end_ns;
};

/* Records before `completed` that their streams have yet to reach, the oldest first. */
struct event_late {
        uint64_t *versions; /* guarded by late_lock in event.c */
        size_t room;
        _Atomic size_t count; /* rises before `completed` does */
};

struct CUevent_st {
        uint32_t magic; /* EVENT_MAGIC, first; 0 when destroyed */
        unsigned flags;
        CUcontext context;
        unsigned long long life;     /* id of the context */
        _Atomic uint32_t references; /* the handle's, and one for each command that names it */
        struct event_state *state;   /* &own, or shared */
        struct event_state own;
        struct event_late late;
        uint64_t ipc_id; /* names the shared file; 0 when not shared */
        struct CUevent_st *next_free;
        struct CUevent_st *next_made;

        /* Guarded by graph_lock: set when the last record was captured. */
        _Atomic uint64_t capture_id; /* 0: it was not recorded in a capture */
        CUgraphNode *tips;
        size_t tip_count;
};

/* CONTEXT_IS_DESTROYED if it, or the context that made it, has ended; but see api_ended(). */
CUresult event_check(CUevent event);
void event_retain(CUevent event);
void event_release(CUevent event);

/* A new record's version; event_complete() when the stream reaches it. */
uint64_t event_record_begin(CUevent event);
void event_complete(CUevent event, uint64_t version, uint64_t end_ns);
bool event_is_complete(CUevent event, uint64_t version);

/* Blocks until the version is complete. */
void event_await(CUevent event, uint64_t version);

#endif
