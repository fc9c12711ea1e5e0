/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the tenants share, and nobody else.
 *
 * tenant.c keeps a listener for each session; tenant_queue.c says whose turn it is; tenant_visit.c
 * has one connection from beginning to end; tenant_peer.c says who is on its other side and watches
 * who joined; tenant_pages.c opens what is handed out; tenant_share.c makes sessions for those who
 * come without one.
 */
#ifndef ALIQUOT_DAEMON_TENANT_TENANT_PARTS_H
#define ALIQUOT_DAEMON_TENANT_TENANT_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "daemon/base/peers.h"
#include "daemon/base/token.h"
#include "daemon/tenant/tenant.h"
#include "store/usage.h"

/* A process that connected, by the kernel's word. */
struct tenant_peer {
        uint32_t uid;
        int32_t pid;
        int held;                 /* pidfd; -1: it is gone, or the kernel gave none */
        bool is_sure;             /* `held` is that very process, and not whoever has its pid */
        uint64_t connected_ticks; /* since boot, when it had connected */
        char cgroup[USAGE_CGROUP_BYTES];
};

/* A process that joined by the socket, kept until it dies. */
struct tenant_resident {
        LIST_ENTRY(tenant_resident) entry;
        struct tenant_listener *listener; /* NULL: the session is gone already */
        struct tenants *tenants;
        struct event *event; /* on peer.held */
        struct tenant_peer peer;
        char session[SESSIONS_NAME_BYTES];
};

/* Something to do for a session: it waits until the queue comes to it. */
struct tenant_work {
        struct fair_request queued;
        struct peer *owner;
        void (*step)(void *of); /* may end what it is for */
        void *of;
};

struct tenant_listener {
        LIST_ENTRY(tenant_listener) entry;
        struct tenants *tenants;
        struct event *event;
        char name[SESSIONS_NAME_BYTES];
        uint8_t id[16];
        uint32_t owner_uid;
        struct peer *owner; /* who shares the queue with other owners */
        struct tenant_work accept;
        int fd;
        uint64_t device, inode; /* of the socket's name */
        int limits;             /* what is handed out, once it was; -1 */
        bool is_mounted;        /* through a read-only mount */
        uint32_t page_version;  /* of the pages that are handed out */
        bool is_paused;         /* nothing can be accepted now */
        bool is_share;          /* of no session: see tenant_share.c */
        bool was_used;          /* somebody who joined was watched */
        unsigned unused_beats;  /* of the clock: nobody who is watched is in it for so long */
        LIST_HEAD(tenant_residents, tenant_resident) residents;
};

/* A connection that has not got its answer, or has not read its welcome. */
struct tenant_visit {
        TAILQ_ENTRY(tenant_visit) entry;
        struct tenants *tenants;
        struct tenant_listener *listener; /* NULL: the session is gone, and it has not read */
        struct event *event;
        struct tenant_work message;
        struct peer *counted;
        struct peer *unread; /* whose welcomes this one is among; NULL: none was sent */
        struct tenant_peer peer;
        int fd;
};

struct tenant_queue {
        struct event *event; /* a turn */
        struct fair fair;
};

struct tenants {
        struct tenants_options options;
        struct token token;
        struct tenants_counts counts;
        struct peers peers;
        struct peers owners; /* `connections`: the listeners of each */
        struct tenant_queue queue;
        struct peers unread;   /* `connections`: the welcomes that each has not read */
        unsigned unread_count; /* of all */
        LIST_HEAD(tenant_listeners, tenant_listener) listeners;
        unsigned listener_count;
        struct tenant_listener *share;                  /* among them; NULL: it is closed */
        TAILQ_HEAD(tenant_visits, tenant_visit) visits; /* oldest first */
        struct event *clock;
        unsigned beats; /* of the clock */
        bool uses_mounts;
        bool is_started;
        bool is_full; /* of listeners, and that was said */
        bool is_in_flight_told;
};

/* tenant_queue.c: step() is called for it, once; what waits already is left. */
int tenant_queue_start(struct tenants *tenants, struct error *err);
void tenant_queue_stop(struct tenants *tenants);
void tenant_queue_add(const struct tenant_listener *listener, struct tenant_work *work);
void tenant_queue_remove(struct tenants *tenants, struct tenant_work *work);

/* tenant.c. NULL: no room for another one. */
struct tenant_listener *tenant_listener_new(struct tenants *tenants, uint32_t owner_uid);
/* Accepts on its descriptor from now on. */
int tenant_listener_begin(struct tenant_listener *listener, struct error *err);
void tenant_listener_close(struct tenant_listener *listener);
struct tenant_listener *tenant_listener_find(const struct tenants *tenants, const char *name);

/* tenant_share.c: opens it, or closes it, as default.swap says. */
void tenant_share_keep(struct tenants *tenants);
/* A new session for a program of this user. NULL: refused, with a reason for that user. */
struct tenant_listener *tenant_share_admit(struct tenants *tenants, uint32_t uid,
                                           struct error *err);
/* With each beat of the clock: ends the sessions that it made and that nobody uses any more. */
void tenant_share_sweep(struct tenants *tenants);

/* tenant_visit.c: takes the descriptor over. */
void tenant_visit_begin(struct tenant_listener *listener, int fd);
void tenant_visit_end(struct tenant_visit *visit);
/* The session goes: ends the visit, unless it waits for its welcome to be read. */
void tenant_visit_leave(struct tenant_visit *visit);

/* tenant_peer.c: user and process of a connection, and later the rest, of who is let in. False:
 * nobody is there any more. */
bool tenant_peer_read(int socket, struct tenant_peer *ret);
void tenant_peer_identify(struct tenant_peer *peer);
void tenant_peer_end(struct tenant_peer *peer);
/* Watches the process of a visit that was let in; takes its `held` over. */
void tenant_watch(struct tenant_visit *visit);
void tenant_forget_all(struct tenant_listener *listener);

/* tenant_pages.c. Whether read-only mounts can be had. */
bool tenant_can_mount(const char *folder);
/* `limits` is kept by the listener; `slots` is fresh and the caller's. */
int tenant_open_pages(struct tenant_listener *listener, int *ret_slots, struct error *err);

#endif
