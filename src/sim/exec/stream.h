/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams: each has a queue of commands and a thread that executes them.
 *
 * The queue is a ring of bytes. A call takes the stream's lock, copies its command in, and
 * publishes it; it allocates nothing, and wakes the worker only if it sleeps. The worker, made with
 * the first command, runs the commands in order. A full ring, or STREAM_PENDING_MAX commands,
 * blocks the caller, as the real push buffer does.
 *
 * Order between streams: every command draws a ticket from its context. A command of the legacy
 * default stream waits for all earlier tickets of blocking streams, and theirs for its ticket. All
 * other order comes from events.
 *
 * Handles stay readable for ever (their memory is reused for streams only), so a stale handle gets
 * an error.
 */
#ifndef ALIQUOT_SIM_EXEC_STREAM_H
#define ALIQUOT_SIM_EXEC_STREAM_H

#include "abi/cuda.h"
#include "common/atomic.h"
#include "sim/context/context.h"
#include "sim/exec/channel.h"
#include "sim/exec/op.h"

#include <pthread.h>

#define STREAM_MAGIC 0x5374726du
#define STREAM_ORPHAN_MAGIC 0x5374726fu
#define STREAM_RING_BYTES ((size_t)256 << 10)
#define STREAM_PENDING_MAX 1021 /* a wait, and 1020 launches behind it: measured, see results */

enum stream_kind { STREAM_LEGACY, STREAM_PER_THREAD, STREAM_CREATED };

enum command_kind {
        COMMAND_PAD, /* fills the ring's end */
        COMMAND_LAUNCH,
        COMMAND_COPY,
        COMMAND_SET,
        COMMAND_HOST,
        COMMAND_CALLBACK,
        COMMAND_RECORD,
        COMMAND_WAIT,
        COMMAND_MEMORY,
        COMMAND_GRAPH,
        COMMAND_WORK,
};

/* Payload follows, 16-aligned. */
struct stream_command {
        uint32_t bytes; /* in the ring, this header included */
        uint16_t kind;
        bool is_in_flight; /* flights_submit() was called for it */
        uint64_t ticket;
        uint64_t enqueued_ns;
        uint64_t estimate_ns; /* of the engine's time */
        uint64_t number;      /* in its stream's channel */
        uint64_t reserved;
};

_Static_assert(sizeof(struct stream_command) % 16 == 0, "payloads are aligned");

struct command_callback {
        CUstreamCallback function;
        void *argument;
};

struct command_event {
        CUevent event; /* a reference is held */
        uint64_t version;
        uint64_t cost_ns; /* how long the stream takes to pass it, off the engine */
};

struct command_memory {
        uint32_t count;
        uint32_t reserved;
        CUstreamBatchMemOpParams operations[];
};

struct command_graph {
        struct graph_program *program; /* a reference is held */
};

struct command_work {
        void (*function)(void *argument);
        void *argument;
        uint64_t cost_ns;
};

struct capture;

struct CUstream_st {
        /* STREAM_MAGIC, first; 0 when destroyed, or ended with a primary context;
         * STREAM_ORPHAN_MAGIC when ended with another one. */
        uint32_t magic;
        enum stream_kind kind;
        unsigned flags;
        int priority;
        unsigned long long id;
        CUcontext context;
        struct exec_context *exec;
        struct CUstream_st *next; /* of the context's streams; guarded by exec->lock */

        pthread_mutex_t lock;         /* producers: tail */
        unsigned char *ring;          /* NULL until the first command */
        uint64_t tail;                /* guarded by lock */
        struct stream_command *begun; /* by stream_begin(); likewise */
        _Atomic uint64_t published;   /* producer, release: all bytes before it are commands */
        _Atomic uint64_t head;        /* worker, release: all bytes before it are free */
        _Atomic uint64_t enqueued;    /* commands; producer */
        _Atomic uint64_t completed;   /* commands; worker, release */
        _Atomic uint64_t oldest; /* ticket of the command being run, or last run; worker, release */
        _Atomic uint64_t end_ns; /* when the latest complete command ended */
        struct exec_queue queue;
        struct exec_channel *channel; /* constant; NULL: it shares no channel */
        _Atomic uint32_t bell;        /* futex word of the sleeping worker */
        _Atomic uint32_t is_asleep;
        _Atomic uint32_t is_closing;  /* destroyed: end when drained */
        _Atomic uint32_t is_dropping; /* context destroyed: run nothing more */
        _Atomic uint32_t has_ended; /* the worker has ended, except for its thread; a futex word */
        pthread_t worker;
        bool has_worker; /* guarded by lock */
        uint32_t
                party; /* the worker's, see sim_thread_expect(); constant once the worker is made */

        /* Guarded by graph_lock (graph/graph.h). */
        struct capture *_Atomic capture;
        CUgraphNode *tips; /* the dependencies of the next captured node */
        CUgraphEdgeData *tip_edges;
        size_t tip_count;

        CUstreamAttrValue policy_window;
        CUstreamAttrValue sync_policy;
        CUstreamAttrValue sync_domain_map;
        CUstreamAttrValue sync_domain;
};

struct exec_context {
        CUcontext context;
        struct exec_context *next; /* of all; constant */
        bool is_taken;             /* by a context; guarded with the list */
        pthread_mutex_t lock;      /* streams, place */
        struct CUstream_st *streams;
        struct CUstream_st *legacy;
        _Atomic uint64_t next_ticket;
        struct exec_place place;
        _Atomic bool has_place;
        struct exec_channels channels;
        _Atomic uint32_t blocking_captures; /* blocking streams that are being captured */
};

/* Whether this is a live stream. INVALID_CONTEXT if its context was destroyed; for a stream that
 * ended otherwise see api_ended(). */
CUresult stream_check(CUstream handle);

/* Resolves 0, legacy and per-thread handles; checks the stream and its context, sticky errors
 * too. */
CUresult stream_find(CUstream handle, bool is_per_thread, CUstream *ret_stream);

/* The same; NOT_PERMITTED from within a host function. */
CUresult stream_resolve(CUstream handle, bool is_per_thread, CUstream *ret_stream);

/* As stream_resolve(), for work: a legacy stream may not be used while a blocking stream captures
 * (STREAM_CAPTURE_IMPLICIT, which invalidates it). */
CUresult stream_resolve_work(CUstream handle, bool is_per_thread, CUstream *ret_stream);

static inline bool stream_is_capturing(CUstream stream)
{
        return load_acquire(&stream->capture) != NULL;
}

/*
 * Room for a command with `bytes` of payload, filled by the caller and then published with
 * stream_commit(); the stream is locked in between. NULL, unlocked: out of host memory.
 */
void *stream_begin(CUstream stream, enum command_kind kind, size_t bytes);
void stream_commit(CUstream stream);

/* Sets the estimated engine time of the command just begun. */
void stream_estimate(CUstream stream, void *payload, uint64_t ns);

/* begin, copy, commit. */
CUresult stream_push(CUstream stream, enum command_kind kind, const void *payload, size_t bytes);

/* Nothing is queued, and nothing that an implicit barrier waits for either. */
bool stream_is_idle(CUstream stream);

/* Waits until all work queued so far is done; returns the context's sticky error. */
CUresult stream_wait(CUstream stream);

/* The same, and until implicit barriers allow more in this stream. */
CUresult stream_drain(CUstream stream);

/* Streams of one context. */
CUresult stream_create(struct exec_context *exec, enum stream_kind kind, unsigned flags,
                       CUstream *ret_stream);

/* Makes the worker end after the queued work. The handle becomes invalid. */
void stream_retire(CUstream stream);

/* The last user of a stream is gone: its memory may be reused. */
void stream_recycle(CUstream stream);

/* A command of `stream` with this ticket may run as far as implicit barriers go. */
bool stream_is_clear(CUstream stream, uint64_t ticket, uint64_t *ret_ready_ns);

/* Every command of the stream up to this ticket is complete. */
bool stream_is_past(CUstream stream, uint64_t ticket);

/* The context's seat at its device; taken at the first use. */
struct exec_place *exec_place_of(struct exec_context *exec);

/* The body of a stream's thread (worker.c). */
void *stream_worker(void *stream);

/* Carries the command out (command.c); `mark` and ready_ns as for ops. */
void command_run(CUstream stream, struct op_run *run, struct stream_command *command);

/* Whether it gives the compute engine work: a kernel, a graph, a fill, a copy within the device. */
bool command_is_work(const struct stream_command *command);

/* Releases what a dropped command holds. */
void command_drop(struct stream_command *command);

/* Some work of the process made progress: wakes the threads in progress_wait(). */
void progress_announce(void);

/* Blocks until check(argument) holds. The caller may hold a stream's lock, and no other. */
void progress_wait(bool (*check)(void *argument), void *argument);

#endif
