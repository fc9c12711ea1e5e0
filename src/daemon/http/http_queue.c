/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which request is served next. One request is served in each turn of the event loop.
 *
 * Between two requests the loop reads from all connections that may be read, lets programs join
 * sessions, and runs what is due, so none of these waits for more than one request. The peer that
 * got the least service time so far comes first (fair.h). Root and the daemon's owner have a queue
 * of their own. While both queues have requests, they are served alternately, so that no crowd of
 * users delays those who must act against it.
 */
#include <errno.h>

#include "common/clock.h"
#include "daemon/base/turn.h"
#include "daemon/http/http_parts.h"

static struct fair *fair_of(struct http_connection *connection)
{
        struct http_queue *queue = &connection->http->queue;

        return connection->peer.is_owner ? &queue->owners : &queue->others;
}

static struct http_connection *take_next(struct http_queue *queue)
{
        struct fair_request *next = fair_take(queue->was_owner ? &queue->others : &queue->owners);

        if (!next)
                next = fair_take(queue->was_owner ? &queue->owners : &queue->others);
        return next ? next->context : NULL;
}

static void on_turn(evutil_socket_t fd, short what, void *context)
{
        struct http_queue *queue = context;
        struct http_connection *next = take_next(queue);
        const uint64_t begin_ns = clock_machine_ns();
        struct fair_peer *peer;
        struct fair *fair;

        if (!next)
                return;
        fair = fair_of(next);
        peer = &next->counted->fair;
        queue->was_owner = next->peer.is_owner;
        http_connection_serve(next);
        fair_charge(fair, peer, clock_machine_ns() - begin_ns);
        turn_come(queue->event);
}

void http_queue_add(struct http_connection *connection)
{
        connection->queued.context = connection;
        fair_add(fair_of(connection), &connection->counted->fair, &connection->queued);
        turn_come(connection->http->queue.event);
}

void http_queue_remove(struct http_connection *connection)
{
        fair_remove(fair_of(connection), &connection->queued);
}

int http_queue_start(struct http *http, struct error *err)
{
        struct http_queue *queue = &http->queue;

        fair_init(&queue->owners);
        fair_init(&queue->others);
        queue->event = event_new(http->options.base, -1, 0, on_turn, queue);
        return queue->event ? 0 : fail(err, -ENOMEM, "out of memory");
}

void http_queue_stop(struct http *http)
{
        if (http->queue.event)
                event_free(http->queue.event);
}
