/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA events. See event.h.
 *
 * Memory of an event is never returned to the heap, only reused for other events. Interprocess
 * events have their state in a shared file (event_ipc.c). Our futexes do not reach other processes,
 * so waits for such events poll.
 */
#include "sim/exec/event.h"

#include "sim/entries.h"
#include "sim/exec/event_ipc.h"
#include "sim/exec/exec.h"
#include "sim/exec/stream.h"
#include "sim/graph/capture.h"
#include "sim/memory/memory.h"
#include "sim/node/clock.h"
#include "sim/node/fault.h"

#include <stdlib.h>
#include <string.h>

#define POLL_NS 50000

static pthread_mutex_t late_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t free_lock = PTHREAD_MUTEX_INITIALIZER;
static CUevent free_events;
static CUevent made_events; /* list of all events, destroyed ones included */

static bool is_event(CUevent event)
{
        return event && event->magic == EVENT_MAGIC;
}

/* Returns whether the event's context has ended. A primary context can end and start again at the
 * same address; then its id differs from the one stored with the event. */
static bool is_context_over(CUevent event)
{
        return load_acquire(&event->context->is_destroyed) ||
               event->life != load_relaxed(&event->context->id);
}

CUresult event_check(CUevent event)
{
        if (!event)
                return CUDA_ERROR_INVALID_HANDLE;
        if (!is_event(event))
                return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        if (!is_context_over(event))
                return CUDA_SUCCESS;
        return event->context->is_primary
                       ? api_ended("event", event, CUDA_ERROR_CONTEXT_IS_DESTROYED)
                       : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

void event_retain(CUevent event)
{
        add_relaxed(&event->references, 1);
}

void event_release(CUevent event)
{
        if (add_acq_rel(&event->references, (uint32_t)-1) != 1)
                return;
        if (event->state != &event->own)
                event_ipc_unmap(event->state);
        event->state = &event->own;
        free(event->late.versions);
        pthread_mutex_lock(&free_lock);
        event->next_free = free_events;
        free_events = event;
        pthread_mutex_unlock(&free_lock);
}

/* Returns a free or new event. A new event stays in the list for good: when its context ends, no
 * other structure may lead to it. */
static CUevent event_take(void)
{
        CUevent event;

        pthread_mutex_lock(&free_lock);
        event = free_events;
        if (event) {
                free_events = event->next_free;
        } else {
                event = calloc(1, sizeof(*event));
                if (event) {
                        event->next_made = made_events;
                        made_events = event;
                }
        }
        pthread_mutex_unlock(&free_lock);
        return event;
}

CUevent event_make(CUcontext context, unsigned flags)
{
        CUevent event = event_take();
        CUevent next_made;

        if (!event)
                return NULL;
        next_made = event->next_made;
        memset(event, 0, sizeof(*event));
        event->next_made = next_made;
        event->flags = flags;
        event->context = context;
        event->life = load_relaxed(&context->id);
        event->references = 1;
        event->state = &event->own;
        event->magic = EVENT_MAGIC;
        return event;
}

uint64_t event_record_begin(CUevent event)
{
        return add_relaxed(&event->state->recorded, 1) + 1;
}

/* Adds the records `from` .. `to` - 1. If memory runs out, they are treated as complete. */
static void late_add(struct event_late *late, uint64_t from, uint64_t to)
{
        size_t count = load_relaxed(&late->count);
        size_t needed = count + (size_t)(to - from);

        if (needed > late->room) {
                uint64_t *grown = realloc(late->versions, 2 * needed * sizeof(*grown));

                if (!grown)
                        return;
                late->versions = grown;
                late->room = 2 * needed;
        }
        while (from < to)
                late->versions[count++] = from++;
        store_release(&late->count, count);
}

static size_t late_find(const struct event_late *late, uint64_t version)
{
        size_t count = load_relaxed(&late->count), at = 0;

        while (at < count && late->versions[at] != version)
                at++;
        return at;
}

static void late_remove(struct event_late *late, uint64_t version)
{
        size_t count = load_relaxed(&late->count), at = late_find(late, version);

        if (at == count)
                return;
        memmove(&late->versions[at], &late->versions[at + 1],
                (count - at - 1) * sizeof(*late->versions));
        store_release(&late->count, count - 1);
}

static void complete_own(CUevent event, uint64_t version, uint64_t end_ns)
{
        struct event_state *state = &event->own;
        uint64_t completed;

        pthread_mutex_lock(&late_lock);
        completed = load_relaxed(&state->completed);
        if (version <= completed) {
                late_remove(&event->late, version);
        } else {
                late_add(&event->late, completed + 1, version);
                store_release(&state->end_ns, end_ns);
                store_release(&state->completed, version);
        }
        pthread_mutex_unlock(&late_lock);
}

static void complete_shared(struct event_state *state, uint64_t version, uint64_t end_ns)
{
        uint64_t seen = load_relaxed(&state->completed);

        if (version < seen)
                return;
        store_release(&state->end_ns, end_ns);
        while (seen < version && !cas_acq_rel(&state->completed, &seen, version))
                ;
}

void event_complete(CUevent event, uint64_t version, uint64_t end_ns)
{
        if (event->state == &event->own)
                complete_own(event, version, end_ns);
        else
                complete_shared(event->state, version, end_ns);
}

static bool is_late(CUevent event, uint64_t version)
{
        bool is_found;

        if (!load_acquire(&event->late.count))
                return false;
        pthread_mutex_lock(&late_lock);
        is_found = late_find(&event->late, version) < load_relaxed(&event->late.count);
        pthread_mutex_unlock(&late_lock);
        return is_found;
}

bool event_is_complete(CUevent event, uint64_t version)
{
        return load_acquire(&event->state->completed) >= version && !is_late(event, version);
}

struct event_awaited {
        CUevent event;
        uint64_t version;
};

static bool is_complete(void *argument)
{
        const struct event_awaited *awaited = argument;

        return event_is_complete(awaited->event, awaited->version) ||
               context_check_life(awaited->event->context, awaited->event->life) != CUDA_SUCCESS;
}

void event_await(CUevent event, uint64_t version)
{
        struct event_awaited awaited = { event, version };

        if (event->state == &event->own) {
                progress_wait(is_complete, &awaited);
                return;
        }
        while (!is_complete(&awaited))
                sim_sleep_until(sim_now_ns() + POLL_NS);
}

CUresult sim_cuEventCreate(CUcontext context, CUevent *ret_event, unsigned int flags)
{
        unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
        CUevent event;

        if (!ret_event || flags & ~known ||
            ((flags & CU_EVENT_INTERPROCESS) && !(flags & CU_EVENT_DISABLE_TIMING)))
                return CUDA_ERROR_INVALID_VALUE;
        event = event_make(context, flags);
        if (!event)
                return CUDA_ERROR_OUT_OF_MEMORY;
        if (flags & CU_EVENT_INTERPROCESS && event_ipc_make(event) < 0) {
                event_release(event);
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
        *ret_event = event;
        return CUDA_SUCCESS;
}

CUresult sim_cuEventDestroy_v2(CUevent event)
{
        CUresult rc = event_check(event);

        if (!is_event(event))
                return rc;
        capture_forget_event(event);
        event->magic = 0;
        event_release(event);
        return rc;
}

/* Records the event. In an idle stream, a record without cost completes at once, so that no thread
 * must be woken. */
static CUresult record_now(CUstream stream, CUevent event)
{
        struct command_event record = { event, event_record_begin(event), config_get()->event_ns };
        CUresult rc;

        if (stream_is_idle(stream) && !record.cost_ns) {
                event_complete(event, record.version, sim_now_ns());
                return CUDA_SUCCESS;
        }
        event_retain(event);
        rc = stream_push(stream, COMMAND_RECORD, &record, sizeof(record));
        if (rc != CUDA_SUCCESS)
                event_release(event);
        return rc;
}

CUresult sim_cuEventRecordWithFlags(bool is_per_thread, CUevent event, CUstream handle,
                                    unsigned flags)
{
        CUstream stream;
        CUresult rc = stream_resolve_work(handle, is_per_thread, &stream);

        if (rc == CUDA_SUCCESS)
                rc = event_check(event);
        if (rc != CUDA_SUCCESS)
                return rc;
        if (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL)
                return CUDA_ERROR_INVALID_VALUE;
        if (event->context != stream->context)
                return CUDA_ERROR_INVALID_HANDLE;
        if (stream_is_capturing(stream)) {
                struct node_body body = { .type = CU_GRAPH_NODE_TYPE_EVENT_RECORD,
                                          .context = stream->context,
                                          .event = event };

                return flags & CU_EVENT_RECORD_EXTERNAL ? capture_add(stream, &body)
                                                        : capture_record(stream, event);
        }
        if (flags & CU_EVENT_RECORD_EXTERNAL)
                return CUDA_ERROR_INVALID_VALUE;
        capture_forget_event(event);
        sim_spend(config_get()->event_record_ns);
        return record_now(stream, event);
}

static CUresult wait_now(CUstream stream, CUevent event)
{
        struct command_event wait = { event, load_acquire(&event->state->recorded) };
        CUresult rc;

        if (event_is_complete(event, wait.version))
                return CUDA_SUCCESS;
        event_retain(event);
        rc = stream_push(stream, COMMAND_WAIT, &wait, sizeof(wait));
        if (rc != CUDA_SUCCESS)
                event_release(event);
        return rc;
}

CUresult sim_cuStreamWaitEvent(bool is_per_thread, CUstream handle, CUevent event, unsigned flags)
{
        CUstream stream;
        CUresult rc = stream_resolve_work(handle, is_per_thread, &stream);

        if (rc == CUDA_SUCCESS)
                rc = event_check(event);
        if (rc != CUDA_SUCCESS)
                return rc;
        if (flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL)
                return CUDA_ERROR_INVALID_VALUE;
        if (flags & CU_EVENT_WAIT_EXTERNAL) {
                struct node_body body = { .type = CU_GRAPH_NODE_TYPE_WAIT_EVENT,
                                          .context = stream->context,
                                          .event = event };

                return stream_is_capturing(stream) ? capture_add(stream, &body)
                                                   : CUDA_ERROR_INVALID_VALUE;
        }
        if (stream_is_capturing(stream) || capture_holds_event(event))
                return capture_wait(stream, event);
        return wait_now(stream, event);
}

static CUresult usable(CUevent event)
{
        CUresult rc = event_check(event);

        if (rc == CUDA_SUCCESS)
                rc = context_check(event->context);
        if (rc == CUDA_SUCCESS && capture_holds_event(event))
                rc = capture_refuse_event(event);
        return rc;
}

CUresult sim_cuEventQuery(CUevent event)
{
        CUresult rc = usable(event);

        if (rc == CUDA_SUCCESS)
                rc = exec_capture_check_unsafe();
        if (rc != CUDA_SUCCESS)
                return rc;
        sim_spend_call(config_get()->event_query_ns);
        if (!event_is_complete(event, load_acquire(&event->state->recorded)))
                return CUDA_ERROR_NOT_READY;
        return context_check(event->context);
}

CUresult sim_cuEventSynchronize(CUevent event)
{
        CUresult rc = op_is_in_host_function() ? CUDA_ERROR_NOT_PERMITTED : usable(event);

        if (rc == CUDA_SUCCESS)
                rc = exec_capture_check_unsafe();
        if (rc != CUDA_SUCCESS)
                return rc;
        event_await(event, load_acquire(&event->state->recorded));
        memory_synchronized(event->context->device);
        return context_check(event->context);
}

/* Returns the event's time by the device's clock, which drifts and has a resolution. */
static uint64_t stamp_ns(CUevent event)
{
        const struct sim_config *config = config_get();
        uint64_t ns = load_acquire(&event->state->end_ns);

        ns += ns / 1000000 * config->drift_ppm + ns % 1000000 * config->drift_ppm / 1000000;
        return config->event_step_ns ? ns - ns % config->event_step_ns : ns;
}

CUresult sim_cuEventElapsedTime_v2(float *ret_ms, CUevent start, CUevent end)
{
        CUresult rc = op_is_in_host_function() ? CUDA_ERROR_NOT_PERMITTED : usable(start);
        int64_t ns;

        if (rc == CUDA_SUCCESS)
                rc = usable(end);
        if (rc != CUDA_SUCCESS)
                return rc;
        if (!ret_ms)
                return CUDA_ERROR_INVALID_VALUE;
        sim_spend(config_get()->event_elapsed_ns);
        if (start->context != end->context ||
            (start->flags | end->flags) & CU_EVENT_DISABLE_TIMING ||
            !load_acquire(&start->state->recorded) || !load_acquire(&end->state->recorded))
                return CUDA_ERROR_INVALID_HANDLE;
        if (!event_is_complete(start, load_acquire(&start->state->recorded)) ||
            !event_is_complete(end, load_acquire(&end->state->recorded)))
                return CUDA_ERROR_NOT_READY;
        ns = (int64_t)(stamp_ns(end) - stamp_ns(start));
        *ret_ms = (float)((double)ns / 1e6);
        return CUDA_SUCCESS;
}
