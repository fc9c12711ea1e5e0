/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of a stream: functions that add commands and wait for them. worker.c takes the commands
 * out.
 */
#include "sim/exec/stream.h"

#include "sim/node/clock.h"
#include "sim/node/config.h"
#include "sim/node/fault.h"
#include "sim/node/flights.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* A per-thread default stream: one for each context that the thread has used. */
struct thread_stream {
        CUcontext context;
        CUstream stream;
        /* the stream's id; another id in `stream` means that its memory was reused */
        unsigned long long id;
        struct thread_stream *next;
};

static __thread struct thread_stream *thread_streams __attribute__((tls_model("initial-exec")));
static pthread_key_t thread_key;
static pthread_once_t thread_key_once = PTHREAD_ONCE_INIT;

static void thread_streams_end(void *list)
{
        struct thread_stream *at = list;

        while (at) {
                struct thread_stream *next = at->next;

                if (at->stream->id == at->id && at->stream->magic == STREAM_MAGIC)
                        stream_retire(at->stream);
                free(at);
                at = next;
        }
}

static void make_thread_key(void)
{
        pthread_key_create(&thread_key, thread_streams_end);
}

static CUresult per_thread_stream(CUcontext context, CUstream *ret_stream)
{
        struct thread_stream *at;
        CUresult rc;

        for (at = thread_streams; at; at = at->next) {
                if (at->context == context && at->stream->exec == context->exec &&
                    at->stream->id == at->id) {
                        *ret_stream = at->stream;
                        return CUDA_SUCCESS;
                }
        }
        at = malloc(sizeof(*at));
        if (!at)
                return CUDA_ERROR_OUT_OF_MEMORY;
        rc = stream_create(context->exec, STREAM_PER_THREAD, 0, &at->stream);
        if (rc != CUDA_SUCCESS) {
                free(at);
                return rc;
        }
        pthread_once(&thread_key_once, make_thread_key);
        at->context = context;
        at->id = at->stream->id;
        at->next = thread_streams;
        thread_streams = at;
        pthread_setspecific(thread_key, at);
        *ret_stream = at->stream;
        return CUDA_SUCCESS;
}

CUresult stream_check(CUstream handle)
{
        if (handle->magic == STREAM_MAGIC)
                return CUDA_SUCCESS;
        return handle->magic == STREAM_ORPHAN_MAGIC
                       ? CUDA_ERROR_INVALID_CONTEXT
                       : api_ended("stream", handle, CUDA_ERROR_INVALID_HANDLE);
}

CUresult stream_find(CUstream handle, bool is_per_thread, CUstream *ret_stream)
{
        CUcontext context;
        CUresult rc;

        if (handle && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD) {
                rc = stream_check(handle);
                if (rc == CUDA_SUCCESS)
                        rc = context_check(handle->context);
                if (rc == CUDA_SUCCESS)
                        *ret_stream = handle;
                return rc;
        }
        rc = context_require(&context);
        if (rc != CUDA_SUCCESS)
                return rc;
        if (!context->exec)
                return CUDA_ERROR_INVALID_CONTEXT;
        if (handle == CU_STREAM_PER_THREAD || (!handle && is_per_thread))
                return per_thread_stream(context, ret_stream);
        *ret_stream = context->exec->legacy;
        return CUDA_SUCCESS;
}

CUresult stream_resolve(CUstream handle, bool is_per_thread, CUstream *ret_stream)
{
        if (op_is_in_host_function())
                return CUDA_ERROR_NOT_PERMITTED;
        return stream_find(handle, is_per_thread, ret_stream);
}

static bool start_worker(CUstream stream)
{
        pthread_attr_t attributes;
        sigset_t all, before;
        void *ring;
        int rc;

        ring = mmap(NULL, STREAM_RING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                    -1, 0);
        if (ring == MAP_FAILED)
                return false;
        stream->ring = ring;
        stream->party = sim_thread_expect();
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, (size_t)512 << 10);
        rc = pthread_create(&stream->worker, &attributes, stream_worker, stream);
        pthread_attr_destroy(&attributes);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (rc == 0) {
                pthread_setname_np(stream->worker, "sim-stream");
                stream->has_worker = true;
                return true;
        }
        sim_thread_forget(stream->party);
        stream->ring = NULL;
        munmap(ring, STREAM_RING_BYTES);
        return false;
}

struct ring_room {
        CUstream stream;
        size_t bytes;
        uint64_t pending_max;
};

static bool has_room(void *argument)
{
        const struct ring_room *room = argument;
        CUstream stream = room->stream;
        size_t offset = stream->tail % STREAM_RING_BYTES;
        size_t bytes = room->bytes;

        if (offset + bytes > STREAM_RING_BYTES)
                bytes += STREAM_RING_BYTES - offset;
        return stream->tail + bytes - load_acquire(&stream->head) <= STREAM_RING_BYTES &&
               load_relaxed(&stream->enqueued) - load_acquire(&stream->completed) <
                       room->pending_max;
}

/* Gives the command its ticket among the context's streams and its number in the channel, in one
 * step: both orders must agree. */
static void number(CUstream stream, struct stream_command *command)
{
        struct exec_context *exec = stream->exec;

        if (!stream->channel) {
                command->ticket = add_relaxed(&exec->next_ticket, 1);
                return;
        }
        pthread_mutex_lock(&exec->channels.lock);
        command->ticket = add_relaxed(&exec->next_ticket, 1);
        command->number = stream->channel->next++;
        pthread_mutex_unlock(&exec->channels.lock);
}

static bool try_lock(void *argument)
{
        return pthread_mutex_trylock(&((CUstream)argument)->lock) == 0;
}

/* Takes the stream's lock. Its holder may be waiting for space, which takes modelled time, so in
 * virtual time this must wait with progress_wait(). The threads that free space and the command
 * that the holder then adds both announce progress. */
static void lock_stream(CUstream stream)
{
        if (clock_authority())
                progress_wait(try_lock, stream);
        else
                pthread_mutex_lock(&stream->lock);
}

void *stream_begin(CUstream stream, enum command_kind kind, size_t bytes)
{
        struct ring_room room = { .stream = stream,
                                  .bytes = (sizeof(struct stream_command) + bytes + 63) &
                                           ~(size_t)63,
                                  .pending_max = STREAM_PENDING_MAX };
        struct stream_command *command;
        size_t offset;

        lock_stream(stream);
        if (__builtin_expect(!stream->has_worker, 0) && !start_worker(stream)) {
                pthread_mutex_unlock(&stream->lock);
                return NULL;
        }
        if (__builtin_expect(!has_room(&room), 0)) {
                /* Once the queue is full, the caller waits until half of the commands are done, so
                 * that it is not woken for every single one. */
                room.pending_max = STREAM_PENDING_MAX / 2;
                progress_wait(has_room, &room);
        }
        offset = stream->tail % STREAM_RING_BYTES;
        if (offset + room.bytes > STREAM_RING_BYTES) {
                command = (struct stream_command *)(stream->ring + offset);
                command->kind = COMMAND_PAD;
                command->bytes = (uint32_t)(STREAM_RING_BYTES - offset);
                stream->tail += command->bytes;
                offset = 0;
        }
        command = (struct stream_command *)(stream->ring + offset);
        command->bytes = (uint32_t)room.bytes;
        command->kind = (uint16_t)kind;
        number(stream, command);
        command->enqueued_ns = sim_now_ns();
        command->estimate_ns = 0;
        command->is_in_flight = false;
        stream->tail += room.bytes;
        stream->begun = command;
        return command + 1;
}

void stream_estimate(CUstream stream, void *payload, uint64_t ns)
{
        struct exec_context *exec = stream->exec;

        ((struct stream_command *)payload)[-1].estimate_ns = ns;
        if (load_acquire(&exec->has_place))
                place_promise(&exec->place, &stream->queue, ns);
        else
                add_relaxed(&stream->queue.ns, ns);
}

void stream_commit(CUstream stream)
{
        if (config_get()->has_flights && command_is_work(stream->begun)) {
                stream->begun->is_in_flight = true;
                flights_submit(stream->context->unit, api_entered_ns());
        }
        store_release(&stream->enqueued, load_relaxed(&stream->enqueued) + 1);
        store_release(&stream->published, stream->tail);
        fence_seq_cst();
        if (load_relaxed(&stream->is_asleep)) {
                add_acq_rel(&stream->bell, 1);
                sim_wake(&stream->bell, 1, REACH_PROCESS);
        }
        pthread_mutex_unlock(&stream->lock);
}

CUresult stream_push(CUstream stream, enum command_kind kind, const void *payload, size_t bytes)
{
        void *room = stream_begin(stream, kind, bytes);

        if (!room)
                return CUDA_ERROR_OUT_OF_MEMORY;
        memcpy(room, payload, bytes);
        stream_commit(stream);
        return CUDA_SUCCESS;
}

/* `oldest` only grows, so an outdated value may delay a command but never lets one run too
 * early. */
bool stream_is_past(CUstream stream, uint64_t ticket)
{
        uint64_t enqueued = load_acquire(&stream->enqueued);

        return load_acquire(&stream->completed) >= enqueued ||
               load_acquire(&stream->oldest) > ticket;
}

bool stream_is_clear(CUstream stream, uint64_t ticket, uint64_t *ret_ready_ns)
{
        struct exec_context *exec = stream->exec;
        bool is_clear = true;

        if (stream->flags & CU_STREAM_NON_BLOCKING)
                return true;
        if (stream != exec->legacy) {
                if (!stream_is_past(exec->legacy, ticket))
                        return false;
                if (load_acquire(&exec->legacy->end_ns) > *ret_ready_ns)
                        *ret_ready_ns = load_acquire(&exec->legacy->end_ns);
                return true;
        }
        pthread_mutex_lock(&exec->lock);
        for (CUstream other = exec->streams; other && is_clear; other = other->next) {
                if (other == stream || other->flags & CU_STREAM_NON_BLOCKING)
                        continue;
                if (!stream_is_past(other, ticket))
                        is_clear = false;
                else if (load_acquire(&other->end_ns) > *ret_ready_ns)
                        *ret_ready_ns = load_acquire(&other->end_ns);
        }
        pthread_mutex_unlock(&exec->lock);
        return is_clear;
}

bool stream_is_idle(CUstream stream)
{
        uint64_t ready_ns = 0;

        return load_acquire(&stream->completed) == load_acquire(&stream->enqueued) &&
               stream_is_clear(stream, UINT64_MAX - 1, &ready_ns);
}

struct wait_target {
        CUstream stream;
        uint64_t commands;
};

static bool is_reached(void *argument)
{
        const struct wait_target *target = argument;

        return load_acquire(&target->stream->completed) >= target->commands ||
               load_acquire(&target->stream->context->error);
}

static bool is_drained(void *argument)
{
        CUstream stream = argument;

        return stream_is_idle(stream) || load_acquire(&stream->context->error);
}

CUresult stream_drain(CUstream stream)
{
        progress_wait(is_drained, stream);
        return (CUresult)load_acquire(&stream->context->error);
}

CUresult stream_wait(CUstream stream)
{
        struct wait_target target = { stream, load_acquire(&stream->enqueued) };

        progress_wait(is_reached, &target);
        return (CUresult)load_acquire(&stream->context->error);
}

/* Memory of ended streams, linked by `next`, for new streams. It is never returned to the heap
 * (stream.h). */
static pthread_mutex_t recycled_lock = PTHREAD_MUTEX_INITIALIZER;
static CUstream recycled;

void stream_recycle(CUstream stream)
{
        pthread_mutex_lock(&recycled_lock);
        stream->next = recycled;
        recycled = stream;
        pthread_mutex_unlock(&recycled_lock);
}

static CUstream stream_memory(void)
{
        CUstream stream;

        pthread_mutex_lock(&recycled_lock);
        stream = recycled;
        if (stream)
                recycled = stream->next;
        pthread_mutex_unlock(&recycled_lock);
        if (!stream)
                stream = aligned_alloc(64, (sizeof(*stream) + 63) & ~(size_t)63);
        if (stream)
                memset(stream, 0, sizeof(*stream));
        return stream;
}

static void unlist_stream(CUstream stream)
{
        struct exec_context *exec = stream->exec;

        pthread_mutex_lock(&exec->lock);
        for (CUstream *at = &exec->streams; *at; at = &(*at)->next) {
                if (*at == stream) {
                        *at = stream->next;
                        break;
                }
        }
        pthread_mutex_unlock(&exec->lock);
}

void stream_retire(CUstream stream)
{
        bool has_worker;

        lock_stream(stream);
        stream->magic = 0;
        has_worker = stream->has_worker;
        pthread_mutex_unlock(&stream->lock);
        if (!has_worker) {
                unlist_stream(stream);
                stream_recycle(stream);
                return;
        }
        store_release(&stream->is_closing, 1);
        add_acq_rel(&stream->bell, 1);
        sim_wake(&stream->bell, 1, REACH_PROCESS);
}

CUresult stream_create(struct exec_context *exec, enum stream_kind kind, unsigned flags,
                       CUstream *ret_stream)
{
        static _Atomic uint64_t next_id = 1;
        CUstream stream = stream_memory();

        if (!stream)
                return CUDA_ERROR_OUT_OF_MEMORY;
        stream->kind = kind;
        stream->flags = flags;
        stream->id = add_relaxed(&next_id, 1);
        stream->context = exec->context;
        stream->exec = exec;
        stream->channel = channel_of_new(&exec->channels);
        pthread_mutex_init(&stream->lock, NULL);
        stream->sync_policy.syncPolicy = CU_SYNC_POLICY_AUTO;
        stream->magic = STREAM_MAGIC;
        pthread_mutex_lock(&exec->lock);
        stream->next = exec->streams;
        exec->streams = stream;
        pthread_mutex_unlock(&exec->lock);
        *ret_stream = stream;
        return CUDA_SUCCESS;
}
