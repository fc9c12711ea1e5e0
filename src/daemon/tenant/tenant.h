/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sockets of sessions: who may join by them, and the pages that are handed out.
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

/* Reads the token again; what is wrong leaves the old one in force. */
int tenants_reload(struct tenants *tenants, struct error *err);

/* Closes all sockets of sessions. NULL is fine. */
void tenants_stop(struct tenants *tenants);

struct tenants_counts {
        uint64_t joined;
        uint64_t refused[MESSAGE_TROUBLE + 1]; /* by enum message_code */
        uint64_t silent; /* ended without a HELLO: too slow, or to make room */
        uint64_t left;   /* processes that joined and are gone */
        unsigned connections;
        unsigned watched; /* processes that joined and live */
};
const struct tenants_counts *tenants_counts(const struct tenants *tenants);

/* The control group of a process when it joined this session by its socket; NULL: it did not, or
 * lives no more. Borrowed until the loop turns. */
const char *tenants_cgroup(const struct tenants *tenants, const char *session, uint32_t pid);

/* Whether `limits` goes out through a read-only mount (else as a plain read-only descriptor). */
bool tenants_use_mounts(const struct tenants *tenants);

#endif
