/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identifies the process at the other end of a connection, and watches it until it dies.
 *
 * The kernel keeps user and pid of the process that connected. The daemon opens a pidfd of the
 * process before it reads anything about that pid. SO_PEERPIDFD (Linux 6.5) returns a pidfd of the
 * right process. Without it, the pid may belong to another process by then, which started after the
 * connection. If there are no pidfds (see identity_hold()), the process's death is not reported,
 * and must be found by other checks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "common/text.h"
#include "daemon/base/descriptors.h"
#include "daemon/processes/identity.h"
#include "daemon/tenant/tenant_parts.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define WATCHED_MAX 8192u

/* -- Identity --------------------------------------------------------------------------------- */

static uint64_t boot_ticks(void)
{
        uint64_t per_second = (uint64_t)sysconf(_SC_CLK_TCK);
        struct timespec now;

        clock_gettime(CLOCK_BOOTTIME, &now);
        return (uint64_t)now.tv_sec * per_second +
               (uint64_t)now.tv_nsec * per_second / UINT64_C(1000000000);
}

/* Opens the process. *ret_is_sure: through SO_PEERPIDFD, and so certainly the right process. */
static int hold_peer(int socket, int32_t pid, bool *ret_is_sure)
{
        socklen_t bytes = sizeof(int);
        int held;

        *ret_is_sure = getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &held, &bytes) == 0;
        if (*ret_is_sure)
                return held;
        /* -ESRCH and -EINVAL mean that the process is gone. The pid is used only if the kernel does
         * not know the option. */
        return errno == ENOPROTOOPT && pid > 0 ? identity_hold((uint32_t)pid) : -ESRCH;
}

bool tenant_peer_read(int socket, struct tenant_peer *ret)
{
        struct ucred said;
        socklen_t bytes = sizeof(said);

        *ret = (struct tenant_peer){ .held = -1, .connected_ticks = boot_ticks() };
        if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &said, &bytes) < 0)
                return false;
        ret->uid = said.uid;
        ret->pid = said.pid;
        ret->held = hold_peer(socket, said.pid, &ret->is_sure);
        return true;
}

void tenant_peer_identify(struct tenant_peer *peer)
{
        if (peer->held < 0)
                return;
        usage_cgroup((uint32_t)peer->pid, peer->cgroup);
        if (!peer->is_sure && usage_start_ticks((uint32_t)peer->pid) > peer->connected_ticks)
                tenant_peer_end(peer);
        /* If the process is gone, the control group may be that of a later process with its pid. */
        if (peer->held < 0 || !identity_is_there(peer->held))
                peer->cgroup[0] = '\0';
}

int tenant_peer_container(const struct tenant_peer *peer, struct cgroup *ret, struct error *err)
{
        struct cgroup found;
        int rc;

        if (peer->pid <= 0)
                return fail(err, -ESRCH, "its process cannot be seen from the daemon's namespace");
        if (peer->held < 0)
                return fail(err, -ESRCH, "its process is gone");
        rc = cgroup_find((uint32_t)peer->pid, &found, err);
        if (rc < 0)
                return rc;
        /* If the process is gone, what was read may be about a later process with its pid. */
        if ((!peer->is_sure && usage_start_ticks((uint32_t)peer->pid) > peer->connected_ticks) ||
            !identity_is_there(peer->held))
                return fail(err, -ESRCH, "its process is gone");
        *ret = found;
        return 0;
}

void tenant_peer_end(struct tenant_peer *peer)
{
        if (peer->held >= 0)
                close(peer->held);
        peer->held = -1;
}

/* -- Death of a process ----------------------------------------------------------------------- */

static void free_resident(struct tenant_resident *resident)
{
        LIST_REMOVE(resident, entry);
        resident->tenants->counts.watched--;
        event_free(resident->event);
        tenant_peer_end(&resident->peer);
        free(resident);
}

/* Its session may be able to end now, because the kernel has released the process's locks. */
static void on_death(evutil_socket_t fd, short what, void *context)
{
        struct tenant_resident *resident = context;
        struct tenants *tenants = resident->tenants;
        char session[SESSIONS_NAME_BYTES];

        memcpy(session, resident->session, sizeof(session));
        log_line(LOG_DEBUG, "pid %d left session %s", resident->peer.pid, session);
        tenants->counts.left++;
        free_resident(resident);
        node_look(tenants->options.node, session);
}

/* Whether the process is watched already. A process that closed its descriptors can join again;
 * while it lives, its pid is not reused. */
static bool is_watched(const struct tenant_listener *listener, const struct tenant_peer *peer)
{
        const struct tenant_resident *resident;

        LIST_FOREACH(resident, &listener->residents, entry)
        {
                /* cppcheck-suppress uninitvar ; LIST_FOREACH sets it */
                if (resident->peer.pid == peer->pid && identity_is_there(resident->peer.held))
                        return true;
        }
        return false;
}

void tenant_watch(struct tenant_visit *visit)
{
        struct tenants *tenants = visit->tenants;
        struct tenant_resident *resident;

        /* A process that is not watched is noticed as dead by its lock. */
        if (visit->peer.held < 0 || !identity_is_pidfd(visit->peer.held) ||
            tenants->counts.watched >= descriptors_max(WATCHED_MAX, DESCRIPTORS_RESIDENTS) ||
            is_watched(visit->listener, &visit->peer))
                return;
        resident = calloc(1, sizeof(*resident));
        if (!resident)
                return;
        resident->tenants = tenants;
        resident->peer = visit->peer;
        memcpy(resident->session, visit->listener->name, sizeof(resident->session));
        resident->event =
                event_new(tenants->options.base, visit->peer.held, EV_READ, on_death, resident);
        if (!resident->event || event_add(resident->event, NULL) < 0) {
                if (resident->event)
                        event_free(resident->event);
                free(resident);
                return;
        }
        visit->peer.held = -1;
        LIST_INSERT_HEAD(&visit->listener->residents, resident, entry);
        visit->listener->was_used = true;
        tenants->counts.watched++;
}

void tenant_forget_all(struct tenant_listener *listener)
{
        struct tenant_resident *resident = LIST_FIRST(&listener->residents);

        while (resident) {
                struct tenant_resident *next = LIST_NEXT(resident, entry);

                free_resident(resident);
                resident = next;
        }
}
