/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA events: each marks a point in a stream, keeps its time, and lets threads wait for it.
 *
 * Each record raises `recorded`; when the stream reaches the record, `completed` and `end_ns`
 * follow. A wait is for the record that was the latest when the wait was called, even if an event
 * is recorded again in another stream and that later record completes first. The state is in the
 * event itself or, for interprocess events, in a file that several processes map. Records of
 * interprocess events are assumed to complete in order.
 */
#ifndef ALIQUOT_SIM_EXEC_EVENT_H
#define ALIQUOT_SIM_EXEC_EVENT_H

#include "abi/cuda.h"
#include "common/atomic.h"
#include "sim/context/context.h"

#define EVENT_MAGIC 0x45766e74u

struct event_state {
        _Atomic uint64_t recorded; /* number of records so far */
        /* number of the highest record that is complete; `end_ns` is its time */
        _Atomic uint64_t completed;
        _Atomic uint64_t end_ns;
};

/* Numbers of the records lower than `completed` that their streams have yet to reach, in ascending
 * order. */
struct event_late {
        uint64_t *versions; /* guarded by late_lock in event.c */
        size_t room;
        _Atomic size_t count; /* a new entry is counted before `completed` rises */
};

struct CUevent_st {
        uint32_t magic; /* EVENT_MAGIC, or 0 when destroyed; must be the first field */
        unsigned flags;
        CUcontext context;
        /* id of the context, which tells whether `context` is still the same one */
        unsigned long long life;
        /* one for the handle, and one for each command that uses the event */
        _Atomic uint32_t references;
        struct event_state *state; /* points to `own`, or to the state in the shared file */
        struct event_state own;
        struct event_late late;
        uint64_t ipc_id; /* number in the name of the shared file; 0 when not shared */
        struct CUevent_st *next_free;
        struct CUevent_st *next_made;

        /* The capture fields, guarded by graph_lock; set when the last record was in a capture. */
        /* id of that capture; 0: the last record was not in a capture */
        _Atomic uint64_t capture_id;
        CUgraphNode *tips;
        size_t tip_count;
};

/* Checks a program's event handle. CONTEXT_IS_DESTROYED if the event was destroyed or its context
 * has ended, except where api_ended() gives another error. */
CUresult event_check(CUevent event);
void event_retain(CUevent event);
void event_release(CUevent event);

/* Begins a record of the event and returns its number (version). The caller passes that to
 * event_complete() when the stream reaches the record. */
uint64_t event_record_begin(CUevent event);
void event_complete(CUevent event, uint64_t version, uint64_t end_ns);
bool event_is_complete(CUevent event, uint64_t version);

/* Blocks until the record with this version is complete. */
void event_await(CUevent event, uint64_t version);

#endif
