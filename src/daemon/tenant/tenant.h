/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sockets of sessions and the doors of profiles: who may join by them, and the pages that are
 * handed out.
 *
 *      tenants_start(&tenants, &options, &err)     a socket for each session there is
 *      ...                                         and from then on as sessions come and go
 *      tenants_stop(tenants)                       the sockets stay, for the next daemon
 *
 * The socket sessions/NAME/socket belongs to the session's owner, mode 0600. Who connects is known
 * by the kernel's word before anything is read: user and process; says one message
 * (proto/message.h), gets one answer and is gone. The process is then held by a
 * descriptor that tells its death at once: a hint to look at the session's locks, never the reason
 * to free anything.
 *
 * The socket doors/PROFILE/socket is a door: all may connect to it whom its folder is mounted for,
 * since it lies beneath one that nobody else can go through. By it a process joins the session of
 * its container, which the first of them makes: the share that the profile's name says. Which
 * container that is, is the kernel's word as well (base/cgroup.h). The session ends when the
 * container's control group is empty or gone and nobody holds its locks.
 *
 * What is bounded: connections in all and of each session (the oldest makes room), the time until
 * a HELLO, joins of a session a second, the processes that are watched, what is done in a turn of
 * the event loop for all sessions together. Whoever is slow, silent or malicious ends their own
 * connection. One thread.
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
        /* Lets those connect to the socket at `path` whom [socket] allows. */
        int (*admit)(const struct config *config, const char *path, struct error *err);
};

int tenants_start(struct tenants **ret, const struct tenants_options *options, struct error *err);

/* The secret of who joins, of join.token_file or GPUSLICE_IPC_TOKEN; length 0 where there is none.
 */
int tenants_read_token(const struct config *config, struct token *ret, struct error *err);

/* Reads the token again; what is wrong leaves the old one in force. Doors follow the profiles of
 * the configuration. */
int tenants_reload(struct tenants *tenants, struct error *err);

/* Closes all sockets of sessions. NULL is fine. */
void tenants_stop(struct tenants *tenants);

struct tenants_counts {
        uint64_t joined;
        uint64_t refused[MESSAGE_TROUBLE + 1]; /* by enum message_code */
        uint64_t silent;      /* ended without a HELLO: too slow, or to make room */
        uint64_t left;        /* processes that joined and are gone */
        unsigned connections; /* to sessions' sockets and to doors */
        unsigned watched;     /* processes that joined and live */
};
const struct tenants_counts *tenants_counts(const struct tenants *tenants);

/* -- Profiles --------------------------------------------------------------------------------- */

struct tenants_profile {
        const struct profile *profile; /* borrowed for the call */
        bool is_of_config;             /* else it was added */
        unsigned sessions;             /* of containers, that there are by it */
};

/* Calls `each` for every profile, in no order; or for the one of this name (NULL: all). */
void tenants_profiles(const struct tenants *tenants, const char *name,
                      void (*each)(const struct tenants_profile *profile, void *context),
                      void *context);

/* Adds a profile for good. 1: it is new; 0: it was there. -EINVAL: it is none, or means nothing
 * here; -ENOSPC: there are too many; else it could not be saved. */
int tenants_add_profile(struct tenants *tenants, const char *name, struct error *err);

/* Drops one that was added: no container is let in by it any more but those that are in already.
 * -ENOENT: there is none; -EEXIST: it is of the configuration. */
int tenants_drop_profile(struct tenants *tenants, const char *name, struct error *err);

/* The control group of a process when it joined this session by its socket; NULL: it did not, or
 * lives no more. Borrowed until the loop turns. */
const char *tenants_cgroup(const struct tenants *tenants, const char *session, uint32_t pid);

/* Whether `limits` goes out through a read-only mount (else as a plain read-only descriptor). */
bool tenants_use_mounts(const struct tenants *tenants);

#endif
