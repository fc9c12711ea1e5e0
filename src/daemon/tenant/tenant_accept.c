/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accepts connections on a listening socket: one in each step of the queue, so that connections
 * without end at one socket do not hold up the others.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "common/log.h"
#include "daemon/tenant/tenant_parts.h"

/* Stops accepting for now, because waiting connections would wake the loop again at once. */
static void pause_accepting(struct tenant_accept *accept)
{
        event_del(accept->event);
        accept->is_paused = true;
}

static void tell_failure(const struct tenant_accept *accept)
{
        static uint64_t told_ns;
        const int error = errno;

        if (!log_due(&told_ns, clock_machine_ns()))
                return;
        if (accept->door)
                log_line(LOG_WARN, "the door of profile %s: accept: %s", accept->door->profile.name,
                         strerror(error));
        else
                log_line(LOG_WARN, "session %s: accept: %s", accept->listener->name,
                         strerror(error));
}

/* Accepts one connection, and queues itself for the next one. */
static void accept_one(void *of)
{
        struct tenant_accept *accept = of;
        int fd;

        if (!sink_takes(accept->tenants->options.sink) ||
            peers_rests(accept->owner, clock_machine_ns())) {
                pause_accepting(accept);
                return;
        }
        fd = accept4(accept->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
                tenant_visit_begin(accept->listener, accept->door, fd);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
                tell_failure(accept);
                pause_accepting(accept);
                return;
        } else if (errno != EINTR && errno != ECONNABORTED) {
                return;
        }
        tenant_queue_add(accept->tenants, accept->owner, &accept->work);
}

static void on_connect(evutil_socket_t fd, short what, void *context)
{
        struct tenant_accept *accept = context;

        tenant_queue_add(accept->tenants, accept->owner, &accept->work);
}

int tenant_accept_begin(struct tenant_accept *accept, struct error *err)
{
        accept->work = (struct tenant_work){ .step = accept_one, .of = accept };
        accept->event = event_new(accept->tenants->options.base, accept->fd, EV_READ | EV_PERSIST,
                                  on_connect, accept);
        if (!accept->event || event_add(accept->event, NULL) < 0)
                return fail(err, -ENOMEM, "out of memory");
        return 0;
}

void tenant_accept_resume(struct tenant_accept *accept)
{
        if (accept->is_paused && sink_takes(accept->tenants->options.sink) &&
            event_add(accept->event, NULL) == 0)
                accept->is_paused = false;
}

void tenant_accept_end(struct tenant_accept *accept)
{
        tenant_queue_remove(accept->tenants, &accept->work);
        if (accept->event)
                event_free(accept->event);
        accept->event = NULL;
        accept->is_paused = false;
}
