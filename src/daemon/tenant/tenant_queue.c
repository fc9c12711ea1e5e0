/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which session's or door's socket is served next, and for how long at a time.
 *
 * Connections to accept and messages to read wait here. The owners of sessions share the time
 * (fair.h), so a user who connects to the sockets of many own sessions delays other users by one
 * connection at a time. All this work takes a bounded part of a turn of the event loop, however
 * many sockets are ready, because other events wait meanwhile.
 */
#include <errno.h>

#include "common/clock.h"
#include "daemon/base/descriptors.h"
#include "daemon/base/turn.h"
#include "daemon/tenant/tenant_parts.h"

#define STEPS 64u /* maximum number of steps in one turn; no step begins after TURN_NS */
#define TURN_NS UINT64_C(2000000)

static void do_steps(struct tenant_queue *queue)
{
        const unsigned most = descriptors_max(STEPS, DESCRIPTORS_TURN);
        const uint64_t begin_ns = clock_machine_ns();
        uint64_t now_ns = begin_ns;

        for (unsigned i = 0; i < most && now_ns - begin_ns < TURN_NS; i++) {
                struct fair_request *next = fair_take(&queue->fair);
                const struct tenant_work *work = next ? next->context : NULL;
                const uint64_t step_ns = now_ns;
                struct peer *owner;

                if (!work)
                        return;
                owner = work->owner;
                work->step(work->of);
                now_ns = clock_machine_ns();
                fair_charge(&queue->fair, &owner->fair, now_ns - step_ns);
        }
        turn_come(queue->event);
}

static void on_turn(evutil_socket_t fd, short what, void *context)
{
        struct tenants *tenants = context;

        do_steps(&tenants->queue);
        tenant_batch_end(tenants);
}

void tenant_queue_add(struct tenants *tenants, struct peer *owner, struct tenant_work *work)
{
        struct tenant_queue *queue = &tenants->queue;

        if (work->queued.peer)
                return;
        work->queued.context = work;
        work->owner = owner;
        fair_add(&queue->fair, &work->owner->fair, &work->queued);
        turn_come(queue->event);
}

void tenant_queue_remove(struct tenants *tenants, struct tenant_work *work)
{
        fair_remove(&tenants->queue.fair, &work->queued);
}

int tenant_queue_start(struct tenants *tenants, struct error *err)
{
        struct tenant_queue *queue = &tenants->queue;

        fair_init(&queue->fair);
        queue->event = event_new(tenants->options.base, -1, 0, on_turn, tenants);
        return queue->event ? 0 : fail(err, -ENOMEM, "out of memory");
}

void tenant_queue_stop(struct tenants *tenants)
{
        if (tenants->queue.event)
                event_free(tenants->queue.event);
}
