/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets processes join sessions, through a socket per session or a socket per profile (a door), and
 * sends them the descriptors of the session's pages.
 *
 *      tenants_start(&tenants, &options, &err)     // opens a socket for each session
 *      ...                                         // opens and closes them with sessions
 *      tenants_stop(tenants)                       // the socket files stay for the next daemon
 *
 * The socket sessions/NAME/socket belongs to the session's owner, mode 0600. The kernel reports
 * user and process of a peer before anything is read. The peer sends one message (proto/message.h)
 * and gets one answer; then the connection ends. The daemon keeps a pidfd of the process, which
 * reports the process's death at once. That death only makes the daemon check the session's locks;
 * it is never by itself the reason to free anything.
 *
 * The socket doors/PROFILE/socket is a door. Every container into which the door's folder is
 * mounted can connect, and no other program, because only the daemon's user can traverse the parent
 * folder. A process that connects joins the session of its container. The first process creates
 * that session, with the share that the profile's name describes. The container is found by what
 * the kernel reports (base/cgroup.h). The session ends when the container's control group is empty
 * or gone and no process holds the session's locks.
 *
 * The number of connections is limited, in total and per session; if it is exceeded, the oldest
 * connection ends. So are the time until a HELLO arrives, the joins per second and session, the
 * watched processes, and the work in one turn of the event loop. A slow, silent or malicious peer
 * only ends its own connection. One thread.
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
        const struct config *config; /* borrowed; read at each use */
        /* Gives the socket at `path` the group and mode of the section [socket]; see
         * http_admit(). */
        int (*admit)(const struct config *config, const char *path, struct error *err);
};

int tenants_start(struct tenants **ret, const struct tenants_options *options, struct error *err);

/* Reads the token that processes must send to join, from the file join.token_file or the variable
 * GPUSLICE_IPC_TOKEN. Length 0: none is needed. */
int tenants_read_token(const struct config *config, struct token *ret, struct error *err);

/* Reads the token again (on failure the old one remains in force), and opens and closes doors for
 * the profiles in the configuration. */
int tenants_reload(struct tenants *tenants, struct error *err);

/* Closes all sockets of sessions and doors. `tenants` may be NULL. */
void tenants_stop(struct tenants *tenants);

struct tenants_counts {
        uint64_t joined;
        uint64_t refused[MESSAGE_TROUBLE + 1]; /* refused HELLOs, by enum message_code */
        /* connections that ended without a HELLO: it was late, or a newer connection took the
         * place */
        uint64_t silent;
        uint64_t left;        /* processes that joined and have died since */
        unsigned connections; /* open connections to sessions' sockets and to doors */
        unsigned watched;     /* processes that joined and are alive */
};
const struct tenants_counts *tenants_counts(const struct tenants *tenants);

/* -- Profiles --------------------------------------------------------------------------------- */

struct tenants_profile {
        const struct profile *profile; /* borrowed for the call */
        /* it is in the configuration; false: it was added through the API */
        bool is_of_config;
        unsigned sessions; /* number of sessions of containers with this profile */
};

/* Calls `each` for profile `name`, or for all in no particular order (NULL). */
void tenants_profiles(const struct tenants *tenants, const char *name,
                      void (*each)(const struct tenants_profile *profile, void *context),
                      void *context);

/* Adds a profile permanently. 1: it is new. 0: it existed. -EINVAL: the name is no profile, or this
 * node could never grant it. -ENOSPC: there are too many profiles. Other errors: it could not be
 * saved. */
int tenants_add_profile(struct tenants *tenants, const char *name, struct error *err);

/* Removes a profile that was added; no further container can join with it. -ENOENT: there is no
 * such profile. -EEXIST: it is in the configuration. */
int tenants_drop_profile(struct tenants *tenants, const char *name, struct error *err);

/* Returns the control group of a process that joined this session through its socket, as it was
 * then. NULL: no living process with this pid did. Borrowed until the next turn of the event
 * loop. */
const char *tenants_cgroup(const struct tenants *tenants, const char *session, uint32_t pid);

/* Whether `limits` is sent as a descriptor on a read-only mount; otherwise it is a plain read-only
 * descriptor. */
bool tenants_use_mounts(const struct tenants *tenants);

#endif
