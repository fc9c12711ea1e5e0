/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps a connection until the peer has read its welcome.
 *
 * The descriptors of an unread welcome are in flight, and the kernel limits the descriptors in
 * flight of the daemon's user (RLIMIT_NOFILE): after a few thousand no process could join any more.
 * So each peer may leave only a few welcomes unread, and a connection is kept, and counted, until
 * the kernel reports that its welcome was read or that the peer is gone, even if the session ends
 * first.
 */
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/minmax.h"
#include "daemon/base/descriptors.h"
#include "daemon/tenant/tenant_parts.h"

#define UNREAD_MAX 16u
#define UNREAD_LOOK_USEC 500000

unsigned tenant_connections_max(const struct tenants *tenants, bool is_doors)
{
        const struct config *config = tenants->options.config;

        return is_doors ? descriptors_max(config->door_connections_max, DESCRIPTORS_DOORS)
                        : descriptors_max(config->join_connections_max, DESCRIPTORS_VISITS);
}

/* Whether a welcome was sent and not read yet. False if the peer is gone. */
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

/* Returns the peer for which the visit's unread welcome counts: the user, whatever session it
 * joins; for root the session, because many containers run as root; at a door also the session,
 * which is that of one container. */
static struct peer *enter_unread(struct tenant_visit *visit)
{
        const struct peers_rate any = { 0 };
        const struct peer_key key = visit->peer.uid && !visit->door
                                            ? peers_user(visit->peer.uid)
                                            : peers_session(visit->listener->id);

        return peers_enter(&visit->tenants->unread, &key, &any, clock_machine_ns());
}

/* Whether the peer may have one more unread welcome. If half of all connections have one, each peer
 * may have only one, so that others find room. */
static bool may_leave_unread(const struct tenant_visit *visit, const struct peer *peer)
{
        const struct tenants *tenants = visit->tenants;
        const unsigned of_session = tenants->options.config->join_session_connections_max;
        unsigned most = min_u32(of_session, UNREAD_MAX);

        if (tenants->crowd[visit->is_doors].unread >=
            tenant_connections_max(tenants, visit->is_doors) / 2)
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

        /* closes the pidfd, so that a slow peer does not use it up */
        tenant_peer_end(&visit->peer);
        if (event_add(visit->event, &look) < 0)
                log_line(LOG_WARN, "a welcome cannot be waited for: out of memory");
}

/* Ends the visit if its welcome was read. If the peer has sent more, or has shut down its side, the
 * socket stays readable and would wake the loop again at once; from then on only a timer checks. */
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
