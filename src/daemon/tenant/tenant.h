/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets processes join sessions, by a socket per session and a door per profile, and hands out the
 * sessions' pages.
 *
 *      tenants_start(&tenants, &options, &err)     a socket for each session there is
 *      ...                                         and from then on as sessions come and go
 *      tenants_stop(tenants)                       the sockets stay, for the next daemon
 *
 * The socket sessions/NAME/socket belongs to the session's owner, mode 0600. The kernel reports
 * user and process of a peer before anything is read. The peer sends one message (proto/message.h)
 * and gets one answer; then the connection ends. The daemon holds the process by a descriptor that
 * reports its death at once: a hint to look at the session's locks, never the reason to free
 * anything.
 *
 * The socket doors/PROFILE/socket is a door. Every container that its folder is mounted into may
 * connect, since only the daemon's user can traverse the parent folder. A process that connects
 * joins the session of its container. The first one makes it, with the share that the profile's
 * name says. The kernel reports the container too (base/cgroup.h). The session ends when the
 * container's control group is empty or gone and no process holds the session's locks.
 *
 * Bounds exist for connections, in all and per session (the oldest makes room), the time until a
 * HELLO, joins per second and session, watched processes, and the work of one turn of the event
 * loop for all sessions. A slow, silent or malicious peer ends its own connection only. One thread.
 */
#ifndef ALIQUOT_DAEMON_TENANT_TENANT_H
#define ALIQUOT_DAEMON_TENANT_TENANT_H

#include <event2/event.h>

#include "daemon/base/sink.h"
#include "daemon/base/token.h"
#include "daemon/config/config.h"
#include "daemon/node/node.h"
#include "proto/message.h"
#include "settings/profile.h"

struct tenants;

struct tenants_options {
        struct event_base *base;
        struct sink *sink;           /* borrowed */
        struct node *node;           /* borrowed */
        const struct config *config; /* borrowed; read anew at each use */
        /* Lets the users that [socket] allows connect to the socket at `path`. */
        int (*admit)(const struct config *config, const char *path, struct error *err);
};

int tenants_start(struct tenants **ret, const struct tenants_options *options, struct error *err);

/* The token that joiners must send, from join.token_file or GPUSLICE_IPC_TOKEN; length 0: none. */
int tenants_read_token(const struct config *config, struct token *ret, struct error *err);

/* Reads the token again; on failure the old one stays in force. Doors follow the profiles of the
 * configuration. */
int tenants_reload(struct tenants *tenants, struct error *err);

/* Closes all sockets of sessions. NULL is fine. */
void tenants_stop(struct tenants *tenants);

struct tenants_counts {
        uint64_t joined;
        uint64_t refused[MESSAGE_TROUBLE + 1]; /* by enum message_code */
        uint64_t silent;      /* ended without a HELLO: too slow, or to make room */
        uint64_t left;        /* processes that joined and have died */
        unsigned connections; /* to sessions' sockets and to doors */
        unsigned watched;     /* processes that joined and are alive */
};
const struct tenants_counts *tenants_counts(const struct tenants *tenants);

/* -- Profiles --------------------------------------------------------------------------------- */

struct tenants_profile {
        const struct profile *profile; /* borrowed for the call */
        bool is_of_config;             /* otherwise it was added */
        unsigned sessions;             /* sessions of containers with this profile */
};

/* Calls `each` for every profile, in no order, or only for profile `name` (NULL: all). */
void tenants_profiles(const struct tenants *tenants, const char *name,
                      void (*each)(const struct tenants_profile *profile, void *context),
                      void *context);

/* Adds a profile permanently. 1: it is new; 0: it existed. -EINVAL: not a profile, or impossible on
 * this node; -ENOSPC: too many profiles; other errors: it could not be saved. */
int tenants_add_profile(struct tenants *tenants, const char *name, struct error *err);

/* Drops an added profile: it lets in no further containers. -ENOENT: no such profile; -EEXIST: it
 * is from the configuration. */
int tenants_drop_profile(struct tenants *tenants, const char *name, struct error *err);

/* The control group of a process when it joined this session by its socket; NULL: it did not join,
 * or is dead. Borrowed until the loop's next turn. */
const char *tenants_cgroup(const struct tenants *tenants, const char *session, uint32_t pid);

/* Whether `limits` is handed out through a read-only mount (otherwise as a plain read-only
 * descriptor). */
bool tenants_use_mounts(const struct tenants *tenants);

#endif
