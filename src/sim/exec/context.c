/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The streams' side of a context, and the functions of exec.h that wait for a context's work.
 */
#include "sim/exec/exec.h"

#include "sim/exec/stream.h"
#include "sim/graph/capture.h"
#include "sim/module/module.h"
#include "sim/node/clock.h"

#include <stdlib.h>
#include <sys/mman.h>

/* All entries ever made. The entry of a closed context stays in the list, so that other threads can
 * traverse it, and is reused for the next context. */
static pthread_mutex_t opened_lock = PTHREAD_MUTEX_INITIALIZER;
static struct exec_context *opened;

static struct exec_context *take_exec(CUcontext context)
{
        struct exec_context *exec;

        pthread_mutex_lock(&opened_lock);
        for (exec = opened; exec && exec->is_taken; exec = exec->next)
                ;
        if (!exec) {
                exec = calloc(1, sizeof(*exec));
                if (exec) {
                        exec->next_ticket = 1;
                        pthread_mutex_init(&exec->lock, NULL);
                        pthread_mutex_init(&exec->channels.lock, NULL);
                        exec->next = opened;
                        opened = exec;
                }
        }
        if (exec) {
                exec->is_taken = true;
                exec->context = context;
                exec->place.error = &context->error;
                exec->channels.streams = 0;
                store_release(&exec->has_place, false);
                store_release(&exec->place.is_closing, false);
                store_release(&exec->blocking_captures, 0);
        }
        pthread_mutex_unlock(&opened_lock);
        return exec;
}

static void give_exec(struct exec_context *exec)
{
        pthread_mutex_lock(&opened_lock);
        exec->is_taken = false;
        pthread_mutex_unlock(&opened_lock);
}

CUresult exec_context_open(CUcontext context)
{
        struct exec_context *exec = take_exec(context);
        CUresult rc;

        if (!exec)
                return CUDA_ERROR_OUT_OF_MEMORY;
        rc = stream_create(exec, STREAM_LEGACY, 0, &exec->legacy);
        if (rc == CUDA_SUCCESS)
                context->exec = exec;
        else
                give_exec(exec);
        return rc;
}

static void drop_stream(CUstream stream)
{
        capture_stream_gone(stream);
        stream->magic = stream->context->is_primary ? 0 : STREAM_ORPHAN_MAGIC;
        store_release(&stream->is_dropping, 1);
        store_release(&stream->is_closing, 1);
        add_acq_rel(&stream->bell, 1);
        sim_wake(&stream->bell, 1, REACH_PROCESS);
}

void exec_context_close(CUcontext context)
{
        struct exec_context *exec = context->exec;
        CUstream stream;

        if (!exec)
                return;
        store_release(&exec->place.is_closing, true);
        pthread_mutex_lock(&exec->lock);
        stream = exec->streams;
        exec->streams = NULL;
        pthread_mutex_unlock(&exec->lock);
        for (CUstream at = stream; at; at = at->next)
                drop_stream(at);
        progress_announce();
        while (stream) {
                CUstream next = stream->next;

                if (stream->has_worker) {
                        while (!load_acquire(&stream->has_ended))
                                sim_wait(&stream->has_ended, 0, SIM_NEVER, REACH_PROCESS);
                        pthread_join(stream->worker, NULL);
                        munmap(stream->ring, STREAM_RING_BYTES);
                        stream->ring = NULL;
                }
                stream_recycle(stream);
                stream = next;
        }
        if (load_acquire(&exec->has_place))
                exec_place_close(&exec->place);
        modules_context_close(context);
        context->exec = NULL;
        progress_announce();
        give_exec(exec);
}

struct exec_place *exec_place_of(struct exec_context *exec)
{
        if (load_acquire(&exec->has_place))
                return &exec->place;
        pthread_mutex_lock(&exec->lock);
        if (!load_relaxed(&exec->has_place)) {
                if (exec_place_open(&exec->place, exec->context->unit) == 0)
                        store_release(&exec->has_place, true);
        }
        pthread_mutex_unlock(&exec->lock);
        return load_acquire(&exec->has_place) ? &exec->place : NULL;
}

/* All work queued in any stream of `exec` with a ticket up to `ticket`. */
struct drained {
        struct exec_context *exec;
        uint64_t ticket;
};

static struct drained all_so_far(struct exec_context *exec)
{
        return (struct drained){ exec, load_acquire(&exec->next_ticket) - 1 };
}

static bool is_drained(void *argument)
{
        struct drained *drained = argument;
        struct exec_context *exec = drained->exec;
        bool is_done = true;

        /* The work of a failed context counts as done: no more of it runs, although a thread may
         * still be within one command. */
        if (load_acquire(&exec->context->error))
                return true;
        pthread_mutex_lock(&exec->lock);
        for (CUstream at = exec->streams; at && is_done; at = at->next)
                is_done = stream_is_past(at, drained->ticket);
        pthread_mutex_unlock(&exec->lock);
        return is_done;
}

CUresult exec_context_synchronize(CUcontext context)
{
        if (context->exec) {
                struct drained drained = all_so_far(context->exec);

                progress_wait(is_drained, &drained);
        }
        return (CUresult)load_acquire(&context->error);
}

/* Finds the next open context of the device after `*after` in the list, and stores its work queued
 * so far. False: there is none. */
static bool next_on(CUdevice device, struct exec_context **after, struct drained *ret_drained)
{
        struct exec_context *at;

        pthread_mutex_lock(&opened_lock);
        at = *after ? (*after)->next : opened;
        while (at && at->context->device != device)
                at = at->next;
        pthread_mutex_unlock(&opened_lock);
        if (!at)
                return false;
        *after = at;
        *ret_drained = all_so_far(at);
        return true;
}

void exec_device_synchronize(CUdevice device)
{
        struct exec_context *at = NULL;
        struct drained drained;

        while (next_on(device, &at, &drained))
                if (!load_acquire(&at->place.is_closing))
                        progress_wait(is_drained, &drained);
}

CUresult exec_stream_context(CUstream stream, bool is_per_thread, CUcontext *ret_context)
{
        CUstream resolved;
        CUresult rc = stream_resolve(stream, is_per_thread, &resolved);

        if (rc == CUDA_SUCCESS)
                *ret_context = resolved->context;
        return rc;
}

CUresult exec_stream_submit(CUstream stream, bool is_per_thread, void (*work)(void *),
                            void *argument, uint64_t cost_ns)
{
        struct command_work command = { work, argument, cost_ns };
        CUstream resolved;
        CUresult rc = stream_resolve_work(stream, is_per_thread, &resolved);

        if (rc != CUDA_SUCCESS)
                return rc;
        return stream_push(resolved, COMMAND_WORK, &command, sizeof(command));
}

bool exec_is_in_host_function(void)
{
        return op_is_in_host_function();
}

bool exec_stream_is_capturing(CUstream stream, bool is_per_thread)
{
        CUstream resolved;

        return stream_resolve(stream, is_per_thread, &resolved) == CUDA_SUCCESS &&
               stream_is_capturing(resolved);
}

CUresult exec_capture_check_context(CUcontext context)
{
        CUresult rc = context->exec ? capture_check_context(context->exec) : CUDA_SUCCESS;

        return rc == CUDA_SUCCESS ? capture_check_unsafe() : rc;
}

CUresult exec_capture_check_unsafe(void)
{
        return capture_check_unsafe();
}
