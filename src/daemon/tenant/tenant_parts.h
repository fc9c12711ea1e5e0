/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the tenants share, and nobody else.
 *
 * tenant.c keeps a listener for each session, door.c one for each profile; tenant_bind.c binds
 * both; tenant_queue.c says whose turn it is; tenant_visit.c has one connection from beginning to
 * end, and door_join.c finds or makes the session of one that came by a door, or has it wait
 * (door_queue.c); tenant_unread.c waits
 * until welcomes are read; tenant_peer.c says who is on a connection's other side and watches who
 * joined; tenant_pages.c opens what is handed out; door_end.c ends the sessions of containers that
 * are over; tenant_share.c makes sessions for those who come without one.
 */
#ifndef ALIQUOT_DAEMON_TENANT_TENANT_PARTS_H
#define ALIQUOT_DAEMON_TENANT_TENANT_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "daemon/base/cgroup.h"
#include "daemon/base/peers.h"
#include "daemon/base/token.h"
#include "daemon/tenant/tenant.h"
#include "settings/profile.h"
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

/* The socket of a profile. */
struct tenant_door {
        LIST_ENTRY(tenant_door) entry;
        struct tenants *tenants;
        struct event *event; /* NULL: nobody can connect now */
        struct profile profile;
        struct peer *owner; /* whose part of the queue new connections are */
        struct tenant_work accept;
        int fd;
        uint64_t device, inode; /* of the socket's name */
        /* Of neither: it is there for the sessions that it has made, and makes no more. */
        bool is_of_config, is_of_api;
        bool is_paused;   /* nothing can be accepted now */
        bool is_troubled; /* it could not be opened, and that was said */
};

/* Who came by a door. */
struct tenant_guest {
        struct cgroup cgroup; /* `container` "": it is in none, and `stray` says why */
        struct error stray;
};

/* A connection that has not got its answer, or has not read its welcome. */
struct tenant_visit {
        TAILQ_ENTRY(tenant_visit) entry;
        struct tenants *tenants;
        struct tenant_door *door; /* by which it came; NULL: by its session's own socket */
        /* NULL: the session is gone, and it has not read; or it came by a door and is not in any
         * session yet. */
        struct tenant_listener *listener;
        struct tenant_guest *guest; /* with `door`; ours */
        struct event *event;
        struct tenant_work message;
        struct peer *owner; /* who shares the queue with others */
        struct peer *counted;
        struct peer *unread; /* whose welcomes this one is among; NULL: none was sent */
        struct tenant_peer peer;
        int fd;
        bool is_doors;    /* among the connections to doors */
        bool is_by_share; /* its session was made for it: tenant_share.c */
        /* It is let in when the sessions of this turn are safe on the disk. */
        TAILQ_ENTRY(tenant_visit) held;
        bool is_held;
        unsigned version; /* in which it is answered then */
};

/* Connections that have one bound: to sessions' sockets, or to doors. */
struct tenant_crowd {
        unsigned connections;
        unsigned unread; /* of them: welcomes that were not read */
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
        struct peers guests; /* containers, and doors */
        struct tenant_queue queue;
        struct peers unread;          /* `connections`: the welcomes that each has not read */
        struct tenant_crowd crowd[2]; /* to sessions' sockets, and to doors */
        LIST_HEAD(tenant_listeners, tenant_listener) listeners;
        unsigned listener_count;
        struct tenant_listener *share; /* among them; NULL: it is closed */
        LIST_HEAD(tenant_doors, tenant_door) doors;
        unsigned door_count;
        TAILQ_HEAD(tenant_waiters, tenant_waiter) waiters; /* oldest first */
        unsigned waiter_count;
        unsigned look_from; /* where the next look at containers begins */
        TAILQ_HEAD(tenant_visits, tenant_visit) visits; /* oldest first */
        bool is_batch; /* sessions were made in this turn that are not on the disk yet */
        struct tenant_visits held; /* who waits for that */
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
void tenant_queue_add(struct tenants *tenants, struct peer *owner, struct tenant_work *work);
void tenant_queue_remove(struct tenants *tenants, struct tenant_work *work);

/* tenant.c. NULL: no room for another one. */
struct tenant_listener *tenant_listener_new(struct tenants *tenants, uint32_t owner_uid);
/* Accepts on its descriptor from now on. */
int tenant_listener_begin(struct tenant_listener *listener, struct error *err);
void tenant_listener_close(struct tenant_listener *listener);
struct tenant_listener *tenant_find(const struct tenants *tenants, const char *session);

/* tenant_share.c: opens it, or closes it, as default.swap says. */
void tenant_share_keep(struct tenants *tenants);
/* A new session for this program. NULL: refused, with a reason for its user. */
struct tenant_listener *tenant_share_admit(const struct tenant_visit *visit, struct error *err);
/* Ends it again, at once, if no process has it: its program was refused after all. */
void tenant_share_undo(struct tenants *tenants, const char *name);
/* With each beat of the clock: ends the sessions that it made and that nobody uses any more. */
void tenant_share_sweep(struct tenants *tenants);

/* tenant_bind.c: `fd` listens as `socket` in this folder, with this mode. Says which inode it is.
 */
struct tenant_binding {
        int folder, fd;
        uint32_t mode, uid;
};
int tenant_bind(const struct tenant_binding *binding, uint64_t *ret_device, uint64_t *ret_inode,
                struct error *err);
/* Whether `socket` in this folder is that one. */
bool tenant_is_bound(int folder, uint64_t device, uint64_t inode);

/* door.c: makes, keeps and ends doors as profiles come and go. */
int tenant_doors_start(struct tenants *tenants, struct error *err);
/* After the configuration was read again. */
void tenant_doors_follow(struct tenants *tenants);
/* Now and then: opens what could not be opened, and ends doors that nobody needs. */
void tenant_doors_tend(struct tenants *tenants);
void tenant_doors_stop(struct tenants *tenants);
struct tenant_door *tenant_door_find(const struct tenants *tenants, const char *profile);

/* door_queue.c: containers that wait for room, in the order in which they came. */
struct tenant_waiter {
        TAILQ_ENTRY(tenant_waiter) entry;
        struct sessions_container of;
        uint8_t uuid[16];  /* the GPU */
        uint64_t first_ns; /* when it asked first, and last */
        uint64_t seen_ns;
};
struct tenant_refusal;
/* Whether one that came before it waits for the same GPU. */
bool tenant_waits_behind(struct tenants *tenants, const struct sessions_one *wanted);
/* There is no room for it: it waits. False: it has waited for long enough, or cannot. */
bool tenant_wait(struct tenants *tenants, const struct sessions_one *wanted,
                 struct tenant_refusal *ret);
void tenant_wait_end(struct tenants *tenants, const struct sessions_one *wanted);
void tenant_wait_stop(struct tenants *tenants);

/* door_join.c: the session of a container that came by a door, in visit->listener; 0, or the enum
 * message_code to refuse with, why, and when to come again (0: never). */
struct tenant_refusal {
        uint32_t retry_ms;
        uint32_t wait_ms;
        struct error why;
};
int tenant_door_admit(struct tenant_visit *visit, struct tenant_refusal *ret);
/* Whether a session without an end was refused for that alone. Without a word about it, it gets the
 * longest TTL, and tenant_renew() renews that. */
bool tenant_has_bounded_ttl(const struct sessions_actions *actions);

/* door_end.c: some of the containers, each in its turn. */
void tenant_doors_look(struct tenants *tenants);
/* Starts the TTL of a session anew, if it has one and half of it is over. */
void tenant_renew(struct tenants *tenants, const struct sessions_one *session);

/* tenant_unread.c */
bool tenant_is_unread(const struct tenant_visit *visit);
/* Counts a welcome before it is sent; false: its peer has left too many unread. */
bool tenant_unread_begin(struct tenant_visit *visit);
void tenant_unread_end(struct tenant_visit *visit);
/* Keeps the visit until its welcome is read; look_again() ends it then. */
void tenant_unread_await(struct tenant_visit *visit);
void tenant_unread_look(struct tenant_visit *visit, short what);
unsigned tenant_connections_most(const struct tenants *tenants, bool is_doors);

/* A session is about to be made; and the end of a turn: those that were made are put on the disk
 * together, and only then is anybody let into them. */
void tenant_batch_begin(struct tenants *tenants);
void tenant_batch_end(struct tenants *tenants);

/* tenant_visit.c: takes the descriptor over. One of the two is NULL. */
void tenant_visit_begin(struct tenant_listener *listener, struct tenant_door *door, int fd);
void tenant_visit_end(struct tenant_visit *visit);
/* The session or the door goes: ends the visit, unless it waits for its welcome to be read. */
void tenant_visit_leave(struct tenant_visit *visit);

/* tenant_peer.c: user and process of a connection, and later the rest, of who is let in. False:
 * nobody is there any more. */
bool tenant_peer_read(int socket, struct tenant_peer *ret);
void tenant_peer_identify(struct tenant_peer *peer);
/* Which container it is in. */
int tenant_peer_container(const struct tenant_peer *peer, struct cgroup *ret, struct error *err);
void tenant_peer_end(struct tenant_peer *peer);
/* Watches the process of a visit that was let in; takes its `held` over. */
void tenant_watch(struct tenant_visit *visit);
void tenant_forget_all(struct tenant_listener *listener);

/* tenant_pages.c. Whether read-only mounts can be had. */
bool tenant_can_mount(const char *folder);
/* `limits` is kept by the listener; `slots` is fresh and the caller's. */
int tenant_open_pages(struct tenant_listener *listener, int *ret_slots, struct error *err);

#endif
