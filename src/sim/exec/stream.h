/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams: each has a queue of commands and a thread, its worker, that executes them.
 *
 * The queue is a ring of bytes. A call takes the stream's lock, copies its command in, and
 * publishes it; it allocates nothing, and wakes the worker only if the worker sleeps. The worker is
 * started with the first command, and runs the commands in order. A full ring, or
 * STREAM_PENDING_MAX commands, blocks the caller, like the push buffer of the real driver.
 *
 * Order between streams: every command gets a ticket, the next number of its context. A command of
 * the legacy default stream waits for all commands of blocking streams that have lower tickets; a
 * command of a blocking stream waits for those of the legacy stream. All other order comes from
 * events.
 *
 * Stream handles stay readable for ever (their memory is reused for streams only), so that a call
 * with the handle of a destroyed stream returns an error.
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
/* measured (see results): one wait, and 1020 launches behind it */
#define STREAM_PENDING_MAX 1021

enum stream_kind { STREAM_LEGACY, STREAM_PER_THREAD, STREAM_CREATED };

enum command_kind {
        COMMAND_PAD, /* fills the end of the ring when the next command does not fit there */
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

/* The header of a command; its payload follows, 16-byte aligned. */
struct stream_command {
        uint32_t bytes; /* size in the ring, including this header */
        uint16_t kind;
        bool is_in_flight; /* flights_submit() was called for this command */
        uint64_t ticket;
        uint64_t enqueued_ns;
        uint64_t estimate_ns; /* estimated time on the compute engine */
        uint64_t number;      /* number in the stream's channel */
        uint64_t reserved;
};

_Static_assert(sizeof(struct stream_command) % 16 == 0, "payloads are aligned");

struct command_callback {
        CUstreamCallback function;
        void *argument;
};

struct command_event {
        CUevent event; /* the command owns a reference */
        uint64_t version;
        uint64_t cost_ns; /* how long the stream takes to process the command; uses no engine */
};

struct command_memory {
        uint32_t count;
        uint32_t reserved;
        CUstreamBatchMemOpParams operations[];
};

struct command_graph {
        struct graph_program *program; /* the command owns a reference */
};

struct command_work {
        void (*function)(void *argument);
        void *argument;
        uint64_t cost_ns;
};

struct capture;

struct CUstream_st {
        /* STREAM_MAGIC while the stream exists. 0 when it was destroyed, or ended with a primary
         * context; STREAM_ORPHAN_MAGIC when it ended with another context. Must be the first
         * field. */
        uint32_t magic;
        enum stream_kind kind;
        unsigned flags;
        int priority;
        unsigned long long id;
        CUcontext context;
        struct exec_context *exec;
        struct CUstream_st *next; /* next stream of the context; guarded by exec->lock */

        /* guards `tail` and `begun`; taken by the threads that add commands */
        pthread_mutex_t lock;
        unsigned char *ring; /* NULL until the first command */
        uint64_t tail;       /* guarded by lock */
        /* the command that stream_begin() has begun; guarded by lock */
        struct stream_command *begun;
        /* all bytes before it are complete commands; stored (release) by the thread that adds
         * them */
        _Atomic uint64_t published;
        _Atomic uint64_t head; /* all bytes before it are free; stored (release) by the worker */
        /* number of commands added; stored by the thread that adds them */
        _Atomic uint64_t enqueued;
        /* number of commands completed; stored (release) by the worker */
        _Atomic uint64_t completed;
        /* ticket of the command that runs or ran last; stored (release) by the worker */
        _Atomic uint64_t oldest;
        _Atomic uint64_t end_ns; /* time at which the latest completed command ended */
        struct exec_queue queue;
        struct exec_channel *channel; /* constant; NULL: the stream shares no channel */
        _Atomic uint32_t bell;        /* futex word on which the worker sleeps */
        _Atomic uint32_t is_asleep;
        /* the stream was destroyed: the worker ends when the queue is empty */
        _Atomic uint32_t is_closing;
        _Atomic uint32_t is_dropping; /* the context was destroyed: the worker runs nothing more */
        /* futex word: the worker has ended, although its thread may not be joined yet */
        _Atomic uint32_t has_ended;
        pthread_t worker;
        bool has_worker; /* guarded by lock */
        /* number for sim_thread_expect(), for the worker; constant once the worker exists */
        uint32_t party;

        /* The capture fields, guarded by graph_lock (graph/graph.h). */
        struct capture *_Atomic capture;
        CUgraphNode *tips; /* the nodes on which the next captured node depends */
        CUgraphEdgeData *tip_edges;
        size_t tip_count;

        CUstreamAttrValue policy_window;
        CUstreamAttrValue sync_policy;
        CUstreamAttrValue sync_domain_map;
        CUstreamAttrValue sync_domain;
};

struct exec_context {
        CUcontext context;
        struct exec_context *next; /* next in the list of all; constant */
        bool is_taken;             /* in use by a context; guarded by the list's lock */
        pthread_mutex_t lock;      /* guards the list of streams, and `place` while it is opened */
        struct CUstream_st *streams;
        struct CUstream_st *legacy;
        _Atomic uint64_t next_ticket;
        struct exec_place place;
        _Atomic bool has_place;
        struct exec_channels channels;
        _Atomic uint32_t blocking_captures; /* number of blocking streams that are being captured */
};

/* Checks that the handle is of an existing stream. INVALID_CONTEXT if its context was destroyed;
 * api_ended() gives the error for a stream that ended otherwise. */
CUresult stream_check(CUstream handle);

/* Resolves the handles 0, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD, and checks the stream and its
 * context. A sticky error of the context is returned too. */
CUresult stream_find(CUstream handle, bool is_per_thread, CUstream *ret_stream);

/* Like stream_find(), but returns NOT_PERMITTED when called from within a host function. */
CUresult stream_resolve(CUstream handle, bool is_per_thread, CUstream *ret_stream);

/* Like stream_resolve(), for calls that queue work. A legacy stream may not be used while a
 * blocking stream is captured: STREAM_CAPTURE_IMPLICIT, which also invalidates the capture. */
CUresult stream_resolve_work(CUstream handle, bool is_per_thread, CUstream *ret_stream);

static inline bool stream_is_capturing(CUstream stream)
{
        return load_acquire(&stream->capture) != NULL;
}

/*
 * Returns room for a command with `bytes` of payload, with the stream locked. The caller fills the
 * payload and calls stream_commit(), which publishes the command and unlocks the stream. NULL, with
 * the stream unlocked: out of host memory.
 */
void *stream_begin(CUstream stream, enum command_kind kind, size_t bytes);
void stream_commit(CUstream stream);

/* Sets the estimated engine time of the command that stream_begin() has begun. */
void stream_estimate(CUstream stream, void *payload, uint64_t ns);

/* Adds a command with a copy of `payload`: stream_begin(), copy, stream_commit(). */
CUresult stream_push(CUstream stream, enum command_kind kind, const void *payload, size_t bytes);

/* Returns whether the stream has no queued work, and no work of other streams remains for which an
 * implicit barrier would make it wait. */
bool stream_is_idle(CUstream stream);

/* Waits until all work queued so far is done. Returns the context's sticky error. */
CUresult stream_wait(CUstream stream);

/* Like stream_wait(), but also waits until implicit barriers would let further commands of this
 * stream run. */
CUresult stream_drain(CUstream stream);

/* Creates a stream in a context. */
CUresult stream_create(struct exec_context *exec, enum stream_kind kind, unsigned flags,
                       CUstream *ret_stream);

/* Destroys a stream: its handle becomes invalid, and its worker ends after the queued work. */
void stream_retire(CUstream stream);

/* Makes the stream's memory reusable, when nothing uses the stream any more. */
void stream_recycle(CUstream stream);

/* Returns whether implicit barriers let a command of `stream` with this ticket run. If so, also
 * raises `*ret_ready_ns` to the end of the work that the command had to wait for. */
bool stream_is_clear(CUstream stream, uint64_t ticket, uint64_t *ret_ready_ns);

/* Returns whether every command of the stream up to this ticket is complete. */
bool stream_is_past(CUstream stream, uint64_t ticket);

/* Returns the context's seat at its device, which is opened at the first use. */
struct exec_place *exec_place_of(struct exec_context *exec);

/* The main function of a stream's worker thread (worker.c). */
void *stream_worker(void *stream);

/* Executes the command (command.c); see op.h for the mark and ready_ns of `run`. */
void command_run(CUstream stream, struct op_run *run, struct stream_command *command);

/* Returns whether the command uses the compute engine: a kernel, a graph, a fill, or a copy within
 * the device. */
bool command_is_work(const struct stream_command *command);

/* Releases the references of a command that will not run. */
void command_drop(struct stream_command *command);

/* Wakes the threads in progress_wait(), after some work of the process made progress. */
void progress_announce(void);

/* Blocks until check(argument) returns true. The caller may hold a stream's lock, but no other
 * lock. */
void progress_wait(bool (*check)(void *argument), void *argument);

#endif
