/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private declarations of daemon/tenant.
 *
 * tenant.c keeps a listener per session, door.c one per profile; tenant_bind.c binds both.
 * tenant_queue.c schedules their work. tenant_visit.c handles one connection. door_join.c finds or
 * makes the session of a connection to a door, or has it wait (door_queue.c). tenant_unread.c waits
 * until welcomes are read. tenant_peer.c identifies peers and watches processes that joined.
 * tenant_pages.c opens the files that are handed out. door_end.c ends sessions whose container has
 * ended. tenant_share.c makes sessions for programs that name none.
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

/* A process that connected, as the kernel reports it. */
struct tenant_peer {
        uint32_t uid;
        int32_t pid;
        int held;     /* pidfd; -1: it is gone, or the kernel gave none */
        bool is_sure; /* `held` is this very process; else its pid may have been reused */
        uint64_t connected_ticks; /* since boot, taken right after it connected */
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

/* Work for a session, which waits in the queue. */
struct tenant_work {
        struct fair_request queued;
        struct peer *owner;
        void (*step)(void *of); /* may free the object that it works on */
        void *of;
};

struct tenant_listener {
        LIST_ENTRY(tenant_listener) entry;
        struct tenants *tenants;
        struct event *event;
        char name[SESSIONS_NAME_BYTES];
        uint8_t id[16];
        uint32_t owner_uid;
        struct peer *owner; /* charged for its time in the queue */
        struct tenant_work accept;
        int fd;
        uint64_t device, inode; /* of the socket file */
        int limits;             /* as handed out; -1: not opened yet */
        bool is_mounted;        /* handed out through a read-only mount */
        uint32_t page_version;  /* of the pages that are handed out */
        bool is_paused;         /* nothing can be accepted now */
        bool is_share;          /* for programs without a session: see tenant_share.c */
        bool was_used;          /* a process that joined was watched */
        unsigned unused_beats;  /* beats of the clock since a watched process was last in it */
        LIST_HEAD(tenant_residents, tenant_resident) residents;
};

/* The socket of a profile. */
struct tenant_door {
        LIST_ENTRY(tenant_door) entry;
        struct tenants *tenants;
        struct event *event; /* NULL: the socket is closed */
        struct profile profile;
        struct peer *owner; /* charged for new connections' time in the queue */
        struct tenant_work accept;
        int fd;
        uint64_t device, inode; /* of the socket file */
        /* Neither: it serves the sessions that it has made, and makes no more. */
        bool is_of_config, is_of_api;
        bool is_paused;   /* nothing can be accepted now */
        bool is_troubled; /* it could not be opened, and that was logged */
};

/* A peer that connected to a door. */
struct tenant_guest {
        struct cgroup cgroup; /* `container` "": it is in none, and `stray` says why */
        struct error stray;
};

/* A connection that waits for its answer, or whose welcome is unread. */
struct tenant_visit {
        TAILQ_ENTRY(tenant_visit) entry;
        struct tenants *tenants;
        struct tenant_door *door; /* the door that it connected to; NULL: a session's own socket */
        /* NULL: the session is gone and the welcome unread; or it came by a door and has no session
         * yet. */
        struct tenant_listener *listener;
        struct tenant_guest *guest; /* with `door`; owned */
        struct event *event;
        struct tenant_work message;
        struct peer *owner; /* charged for its time in the queue */
        struct peer *counted;
        struct peer *unread; /* the peer that its unread welcome counts for; NULL: none was sent */
        struct tenant_peer peer;
        int fd;
        bool is_doors;    /* counts among the connections to doors */
        bool is_by_share; /* its session was made for it: tenant_share.c */
        /* If held, it is let in once the sessions of this turn are saved. */
        TAILQ_ENTRY(tenant_visit) held;
        bool is_held;
        unsigned version; /* protocol version of that answer */
};

/* Connections with a common bound: to sessions' sockets, or to doors. */
struct tenant_crowd {
        unsigned connections;
        unsigned unread; /* of these, with an unread welcome */
};

struct tenant_queue {
        struct event *event; /* begins a turn */
        struct fair fair;
};

struct tenants {
        struct tenants_options options;
        struct token token;
        struct tenants_counts counts;
        struct peers peers;
        struct peers owners; /* `connections`: listeners per owner */
        struct peers guests; /* containers and doors */
        struct tenant_queue queue;
        struct peers unread;          /* `connections`: unread welcomes per peer */
        struct tenant_crowd crowd[2]; /* [0] to sessions' sockets, [1] to doors */
        LIST_HEAD(tenant_listeners, tenant_listener) listeners;
        unsigned listener_count;
        struct tenant_listener *share; /* one of the listeners; NULL: it is closed */
        LIST_HEAD(tenant_doors, tenant_door) doors;
        unsigned door_count;
        TAILQ_HEAD(tenant_waiters, tenant_waiter) waiters; /* oldest first */
        unsigned waiter_count;
        unsigned look_from; /* index at which the next look at containers begins */
        TAILQ_HEAD(tenant_visits, tenant_visit) visits; /* oldest first */
        bool is_batch;             /* sessions were made in this turn and are not saved yet */
        struct tenant_visits held; /* visits that wait for that */
        struct event *clock;
        unsigned beats; /* of the clock, so far */
        bool uses_mounts;
        bool is_started;
        bool is_full; /* no listener can be added, and that was logged */
        bool is_in_flight_told;
};

/* tenant_queue.c: calls work->step() once; work that waits already keeps its place. */
int tenant_queue_start(struct tenants *tenants, struct error *err);
void tenant_queue_stop(struct tenants *tenants);
void tenant_queue_add(struct tenants *tenants, struct peer *owner, struct tenant_work *work);
void tenant_queue_remove(struct tenants *tenants, struct tenant_work *work);

/* tenant.c. NULL: no room for another listener. */
struct tenant_listener *tenant_listener_new(struct tenants *tenants, uint32_t owner_uid);
/* Accepts connections on listener->fd from now on. */
int tenant_listener_begin(struct tenant_listener *listener, struct error *err);
void tenant_listener_close(struct tenant_listener *listener);
struct tenant_listener *tenant_find(const struct tenants *tenants, const char *session);

/* tenant_share.c: opens or closes the socket, as default.swap says. */
void tenant_share_keep(struct tenants *tenants);
/* Makes a session for this program. NULL: refused; `err` is for its user. */
struct tenant_listener *tenant_share_admit(const struct tenant_visit *visit, struct error *err);
/* Ends that session if no process holds it, since its program was refused. */
void tenant_share_undo(struct tenants *tenants, const char *name);
/* At each beat of the clock: ends sessions made here that no process uses any more. */
void tenant_share_sweep(struct tenants *tenants);

/* tenant_bind.c: `fd` listens as `socket` in this folder, with this mode. Returns its inode. */
struct tenant_binding {
        int folder, fd;
        uint32_t mode, uid;
};
int tenant_bind(const struct tenant_binding *binding, uint64_t *ret_device, uint64_t *ret_inode,
                struct error *err);
/* Whether `socket` in this folder is that inode. */
bool tenant_is_bound(int folder, uint64_t device, uint64_t inode);

/* door.c: makes, keeps and ends doors as profiles come and go. */
int tenant_doors_start(struct tenants *tenants, struct error *err);
/* After the configuration was read again. */
void tenant_doors_follow(struct tenants *tenants);
/* At each beat: opens doors that are not open, and ends those that nothing needs. */
void tenant_doors_tend(struct tenants *tenants);
void tenant_doors_stop(struct tenants *tenants);
struct tenant_door *tenant_door_find(const struct tenants *tenants, const char *profile);

/* door_queue.c: containers that wait for room, in order of arrival. */
struct tenant_waiter {
        TAILQ_ENTRY(tenant_waiter) entry;
        struct sessions_container of;
        uint8_t uuid[16];  /* the GPU */
        uint64_t first_ns; /* times of its first and of its last request */
        uint64_t seen_ns;
};
struct tenant_refusal;
/* Whether an earlier container waits for the same GPU. */
bool tenant_waits_behind(struct tenants *tenants, const struct sessions_one *wanted);
/* Queues a container that found no room. False: it has waited long enough, or cannot wait. */
bool tenant_wait(struct tenants *tenants, const struct sessions_one *wanted,
                 struct tenant_refusal *ret);
void tenant_wait_end(struct tenants *tenants, const struct sessions_one *wanted);
void tenant_wait_stop(struct tenants *tenants);

/* door_join.c: sets visit->listener to the session of the peer's container. Returns 0, or the enum
 * message_code to refuse with, and in `ret` why and when to come again (0: never). */
struct tenant_refusal {
        uint32_t retry_ms;
        uint32_t wait_ms;
        struct error why;
};
int tenant_door_admit(struct tenant_visit *visit, struct tenant_refusal *ret);
/* Whether a session without an end was refused for that alone. Unless its request mentions a TTL,
 * it gets the longest one, and tenant_renew() renews that. */
bool tenant_has_bounded_ttl(const struct sessions_actions *actions);

/* door_end.c: looks at some of the containers, round robin. */
void tenant_doors_look(struct tenants *tenants);
/* Restarts the session's TTL, if it has one and half of it is over. */
void tenant_renew(struct tenants *tenants, const struct sessions_one *session);

/* tenant_unread.c */
bool tenant_is_unread(const struct tenant_visit *visit);
/* Counts a welcome before it is sent; false: its peer has too many unread ones. */
bool tenant_unread_begin(struct tenant_visit *visit);
void tenant_unread_end(struct tenant_visit *visit);
/* Keeps the visit until its welcome is read; then tenant_unread_look() ends it. */
void tenant_unread_await(struct tenant_visit *visit);
void tenant_unread_look(struct tenant_visit *visit, short what);
unsigned tenant_connections_most(const struct tenants *tenants, bool is_doors);

/* begin: a session is about to be made. end: the turn is over; saves its sessions together, and
 * only then lets processes in. */
void tenant_batch_begin(struct tenants *tenants);
void tenant_batch_end(struct tenants *tenants);

/* tenant_visit.c: takes ownership of `fd`. Either `listener` or `door` is NULL. */
void tenant_visit_begin(struct tenant_listener *listener, struct tenant_door *door, int fd);
void tenant_visit_end(struct tenant_visit *visit);
/* The session or the door goes away: ends the visit, unless its welcome is unread. */
void tenant_visit_leave(struct tenant_visit *visit);

/* tenant_peer.c: user and process of a connection; tenant_peer_identify(): the rest, once it is let
 * in. False: the peer is gone. */
bool tenant_peer_read(int socket, struct tenant_peer *ret);
void tenant_peer_identify(struct tenant_peer *peer);
int tenant_peer_container(const struct tenant_peer *peer, struct cgroup *ret, struct error *err);
void tenant_peer_end(struct tenant_peer *peer);
/* Watches the process of a visit that was let in; takes ownership of its `held`. */
void tenant_watch(struct tenant_visit *visit);
void tenant_forget_all(struct tenant_listener *listener);

/* tenant_pages.c. Whether read-only mounts are possible. */
bool tenant_can_mount(const char *folder);
/* `limits` stays with the listener; *ret_slots is a new description, owned by the caller. */
int tenant_open_pages(struct tenant_listener *listener, int *ret_slots, struct error *err);

#endif
