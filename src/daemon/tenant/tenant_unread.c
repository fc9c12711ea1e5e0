/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Until a welcome is read.
 *
 * One that is not keeps its descriptors in flight, and the kernel bounds those of the daemon's user
 * in all (RLIMIT_NOFILE): a few thousand, and nobody joins any more. So the connection of a welcome
 * stays until the kernel says that the welcome was read or that the peer is gone, also when the
 * session goes first, and each peer may leave a few welcomes unread.
 */
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/minmax.h"
#include "daemon/base/descriptors.h"
#include "daemon/tenant/tenant_parts.h"

#define UNREAD_MOST 16u
#define UNREAD_LOOK_USEC 500000

unsigned tenant_connections_most(const struct tenants *tenants, bool is_doors)
{
        const struct config *config = tenants->options.config;

        return is_doors ? descriptors_most(config->door_connections_most, DESCRIPTORS_DOORS)
                        : descriptors_most(config->join_connections_most, DESCRIPTORS_VISITS);
}

/* A peer that is gone has nothing left to read. */
bool tenant_is_unread(const struct tenant_visit *visit)
{
        int bytes = 0;

        return visit->unread && ioctl(visit->fd, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

static unsigned count_unread(const struct tenants *tenants, const struct peer *peer)
{
        const struct tenant_visit *visit;
        unsigned count = 0;

        TAILQ_FOREACH(visit, &tenants->visits, entry)
        {
                /* cppcheck-suppress uninitvar ; TAILQ_FOREACH sets it */
                if (visit->unread == peer && tenant_is_unread(visit))
                        count++;
        }
        return count;
}

/* A user, whatever sessions it makes; root is a session's, as many containers are root. Whoever
 * came by a door is its container's, and so a session's. */
static struct peer *enter_unread(struct tenant_visit *visit)
{
        const struct peers_rate any = { 0 };
        const struct peer_key key = visit->peer.uid && !visit->door
                                            ? peers_user(visit->peer.uid)
                                            : peers_session(visit->listener->id);

        return peers_enter(&visit->tenants->unread, &key, &any, clock_machine_ns());
}

/* Where half of all connections wait, one each is enough: so the others find room. */
static bool may_leave_unread(const struct tenant_visit *visit, const struct peer *peer)
{
        const struct tenants *tenants = visit->tenants;
        const unsigned of_session = tenants->options.config->join_session_connections_most;
        unsigned most = min_u32(of_session, UNREAD_MOST);

        if (tenants->crowd[visit->is_doors].unread >=
            tenant_connections_most(tenants, visit->is_doors) / 2)
                most = 1;
        return peer->connections <= most || count_unread(tenants, peer) < most;
}

bool tenant_unread_begin(struct tenant_visit *visit)
{
        struct peer *unread = enter_unread(visit);

        if (unread && may_leave_unread(visit, unread)) {
                visit->unread = unread;
                visit->tenants->crowd[visit->is_doors].unread++;
                return true;
        }
        if (unread)
                peers_leave(unread);
        return false;
}

void tenant_unread_end(struct tenant_visit *visit)
{
        if (!visit->unread)
                return;
        peers_leave(visit->unread);
        visit->tenants->crowd[visit->is_doors].unread--;
        visit->unread = NULL;
}

void tenant_unread_await(struct tenant_visit *visit)
{
        const struct timeval look = { .tv_usec = UNREAD_LOOK_USEC };

        tenant_peer_end(&visit->peer); /* a descriptor less, for as long as this takes */
        if (event_add(visit->event, &look) < 0)
                log_line(LOG_WARN, "a welcome cannot be waited for: out of memory");
}

/* One that says more, or will say nothing more, would wake us again at once: then the clock looks.
 */
void tenant_unread_look(struct tenant_visit *visit, short what)
{
        if (!tenant_is_unread(visit)) {
                tenant_visit_end(visit);
        } else if (what & EV_READ) {
                event_del(visit->event);
                event_assign(visit->event, visit->tenants->options.base, -1, EV_PERSIST,
                             event_get_callback(visit->event), visit);
                tenant_unread_await(visit);
        }
}
