/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private declarations of daemon/tenant.
 *
 * tenant.c keeps a listener per session, and door.c one per profile; tenant_bind.c binds both, and
 * tenant_accept.c accepts connections to them.
 * tenant_queue.c schedules their work. tenant_visit.c handles one connection (a visit). door_join.c
 * finds or creates the session of a connection to a door, or makes it wait for room (door_queue.c).
 * tenant_unread.c keeps connections until the peer has read the answer that lets it in (the
 * welcome). tenant_peer.c identifies peers, and watches processes that joined (residents).
 * tenant_pages.c opens the files that are sent. door_end.c ends sessions whose container has ended.
 * tenant_share.c creates sessions for programs that name none.
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
        /* result of identity_hold(); -1: the process is gone, or could not be opened */
        int held;
        /* `held` is certainly this process; false: its pid may have been reused before */
        bool is_sure;
        uint64_t connected_ticks; /* clock ticks since boot, read right after it connected */
        char cgroup[USAGE_CGROUP_BYTES];
};

/* A process that joined through a socket, kept until it dies. */
struct tenant_resident {
        LIST_ENTRY(tenant_resident) entry;
        struct tenant_listener *listener; /* NULL: the session is gone */
        struct tenants *tenants;
        struct event *event; /* reports the death of peer.held */
        struct tenant_peer peer;
        char session[SESSIONS_NAME_BYTES];
};

/* A step of work for a session or a door, which waits in the queue. */
struct tenant_work {
        struct fair_request queued;
        struct peer *owner;
        void (*step)(void *of); /* does the step; may free the object `of` */
        void *of;
};

/* A socket on which connections are accepted: a listener's or a door's. */
struct tenant_accept {
        struct tenants *tenants;
        struct tenant_listener *listener; /* one of the two; the other is NULL */
        struct tenant_door *door;
        /* the peer that is charged for the time in the queue: the session's owner, or the door */
        struct peer *owner;
        struct event *event; /* NULL: no connection is accepted */
        struct tenant_work work;
        int fd;         /* -1: none */
        bool is_paused; /* no connection can be accepted for now */
};

struct tenant_listener {
        LIST_ENTRY(tenant_listener) entry;
        struct tenants *tenants;
        struct tenant_accept accept;
        char name[SESSIONS_NAME_BYTES];
        uint8_t id[16];
        uint32_t owner_uid;
        uint64_t device, inode; /* of the socket file */
        int limits;             /* descriptor of `limits` that is sent; -1: not opened yet */
        bool is_mounted;        /* `limits` is on a read-only mount */
        uint32_t page_version;  /* version of the session's pages */
        /* the socket for programs that name no session: see tenant_share.c */
        bool is_share;
        bool was_used;         /* a process that joined was watched since the last check */
        unsigned unused_beats; /* clock beats since a watched process was last in the session */
        LIST_HEAD(tenant_residents, tenant_resident) residents;
};

/* The socket of a profile, through which containers join. */
struct tenant_door {
        LIST_ENTRY(tenant_door) entry;
        struct tenants *tenants;
        struct tenant_accept accept;
        struct profile profile;
        uint64_t device, inode; /* of the socket file */
        /* The profile is in the configuration, or was added through the API. If neither, the door
         * serves its existing sessions and creates no more. */
        bool is_of_config, is_of_api;
        bool is_troubled; /* it could not be opened, and that was logged */
};

/* What the kernel reports about a peer that connected to a door. */
struct tenant_guest {
        /* `container` is "" if the peer is in none; `stray` then has the reason */
        struct cgroup cgroup;
        struct error stray;
};

/* A connection that waits for its answer, or whose welcome is not read yet. */
struct tenant_visit {
        TAILQ_ENTRY(tenant_visit) entry;
        struct tenants *tenants;
        /* the door to which it connected; NULL: a session's socket, or the door is gone */
        struct tenant_door *door;
        /* The listener of its session. NULL: the session is gone and the welcome unread, or the
         * connection is to a door and has no session yet. */
        struct tenant_listener *listener;
        struct tenant_guest *guest; /* only for a door; owned */
        struct event *event;
        struct tenant_work message;
        struct peer *owner; /* the peer that is charged for its time in the queue */
        struct peer *counted;
        /* the peer for which its unread welcome counts; NULL: no welcome was sent */
        struct peer *unread;
        struct tenant_peer peer;
        int fd;
        bool is_doors;    /* it counts among the connections to doors */
        bool is_by_share; /* its session was created for it: tenant_share.c */
        /* A held visit is answered when the sessions created in this turn are saved. */
        TAILQ_ENTRY(tenant_visit) held;
        bool is_held;
        unsigned version; /* protocol version for that answer */
};

/* Connections that have a common limit: those to sessions' sockets, or those to doors. */
struct tenant_crowd {
        unsigned connections;
        unsigned unread; /* number of these whose welcome is not read yet */
};

struct tenant_queue {
        struct event *event; /* runs in the next turn of the event loop */
        struct fair fair;
};

struct tenants {
        struct tenants_options options;
        struct token token;
        struct tenants_counts counts;
        struct peers peers;
        struct peers owners; /* owners of sessions; `connections` is their number of listeners */
        struct peers guests; /* containers, and doors */
        struct tenant_queue queue;
        /* peers with unread welcomes; `connections` is the number of these */
        struct peers unread;
        struct tenant_crowd crowd[2]; /* [0]: to sessions' sockets; [1]: to doors */
        LIST_HEAD(tenant_listeners, tenant_listener) listeners;
        unsigned listener_count;
        /* the listener for programs that name no session; NULL: it is closed */
        struct tenant_listener *share;
        LIST_HEAD(tenant_doors, tenant_door) doors;
        unsigned door_count;
        TAILQ_HEAD(tenant_waiters, tenant_waiter) waiters; /* in the order of their first request */
        unsigned waiter_count;
        unsigned look_from; /* session index at which the next check of containers begins */
        TAILQ_HEAD(tenant_visits, tenant_visit) visits; /* in the order of their connection */
        bool is_batch;             /* sessions were created in this turn and are not saved yet */
        struct tenant_visits held; /* visits to answer when they are saved */
        struct event *clock;
        unsigned beats; /* number of clock beats so far */
        int mount;      /* copy of the runtime folder's mount, for `slots`; -1: none can be made */
        bool is_started;
        bool is_full; /* no listener could be added, and that was logged */
        bool is_in_flight_told;
};

/* tenant_queue.c: tenant_queue_add() queues `work`, so that work->step() is called once. Work that
 * is queued already keeps its place. `owner` is charged for the time. */
int tenant_queue_start(struct tenants *tenants, struct error *err);
void tenant_queue_stop(struct tenants *tenants);
void tenant_queue_add(struct tenants *tenants, struct peer *owner, struct tenant_work *work);
void tenant_queue_remove(struct tenants *tenants, struct tenant_work *work);

/* tenant.c: adds a listener. NULL: there is no room for it. */
struct tenant_listener *tenant_listener_new(struct tenants *tenants, uint32_t owner_uid);
void tenant_listener_close(struct tenant_listener *listener);
struct tenant_listener *tenant_find(const struct tenants *tenants, const char *session);

/* tenant_accept.c: tenant_accept_begin() accepts connections to accept->fd from now on, and
 * tenant_accept_end() no more; the caller closes the descriptor. tenant_accept_resume() is called
 * at each clock beat, because accepting stops while there is no room for connections. */
int tenant_accept_begin(struct tenant_accept *accept, struct error *err);
void tenant_accept_resume(struct tenant_accept *accept);
void tenant_accept_end(struct tenant_accept *accept);

/* tenant_share.c: opens or closes the socket for programs that name no session, as default.swap
 * says. */
void tenant_share_keep(struct tenants *tenants);
/* Creates a session for the visit's program and returns its listener. NULL: refused; `err` is for
 * the program's user. */
struct tenant_listener *tenant_share_admit(const struct tenant_visit *visit, struct error *err);
/* Ends such a session if no process holds it, because its program was refused. */
void tenant_share_undo(struct tenants *tenants, const char *name);
/* Called at each clock beat: ends such sessions that no process uses any more. */
void tenant_share_sweep(struct tenants *tenants);

/* tenant_bind.c: binds `fd` as the file `socket` in `folder`, with this mode and owner, and listens
 * on it. Returns the file's device and inode. */
struct tenant_binding {
        int folder, fd;
        uint32_t mode, uid;
};
int tenant_bind(const struct tenant_binding *binding, uint64_t *ret_device, uint64_t *ret_inode,
                struct error *err);
/* Whether the file `socket` in the folder has this device and inode. */
bool tenant_is_bound(int folder, uint64_t device, uint64_t inode);

/* door.c: opens a door for each profile and closes it when it is no longer needed. */
int tenant_doors_start(struct tenants *tenants, struct error *err);
/* Follows the profiles in the configuration, after it was read again. */
void tenant_doors_follow(struct tenants *tenants);
/* Called at each clock beat: opens doors that are not open, and closes those that are not
 * needed. */
void tenant_doors_tend(struct tenants *tenants);
void tenant_doors_stop(struct tenants *tenants);
struct tenant_door *tenant_door_find(const struct tenants *tenants, const char *profile);

/* door_queue.c: a container that waits for room. They are served in order of arrival. */
struct tenant_waiter {
        TAILQ_ENTRY(tenant_waiter) entry;
        struct sessions_container of;
        uint8_t uuid[16];  /* the GPU on which it waits for room */
        uint64_t first_ns; /* when it first requested a session; seen_ns: when it last did */
        uint64_t seen_ns;
};
struct tenant_refusal;
/* Whether a container that came earlier waits for the same GPU. */
bool tenant_waits_behind(struct tenants *tenants, const struct sessions_one *wanted);
/* Queues a container that found no room, and sets the retry times in `ret`. False: it has waited
 * long enough, or cannot wait. */
bool tenant_wait(struct tenants *tenants, const struct sessions_one *wanted,
                 struct tenant_refusal *ret);
void tenant_wait_end(struct tenants *tenants, const struct sessions_one *wanted);
void tenant_wait_stop(struct tenants *tenants);

/* door_join.c: sets visit->listener to the session of the peer's container. Returns 0, or the enum
 * message_code with which to refuse. Then `ret` has the reason, when to retry (retry_ms, 0: never),
 * and how long retrying makes sense (wait_ms). */
struct tenant_refusal {
        uint32_t retry_ms;
        uint32_t wait_ms;
        struct error why;
};
int tenant_door_admit(struct tenant_visit *visit, struct tenant_refusal *ret);
/* Whether a session without an end was refused only because a TTL is required. The caller then
 * requests the longest TTL, and tenant_renew() renews it. */
bool tenant_has_bounded_ttl(const struct sessions_actions *actions);

/* door_end.c: checks some of the containers, in rotation. */
void tenant_doors_look(struct tenants *tenants);
/* Restarts the session's TTL if it has one and more than half of it has passed. */
void tenant_renew(struct tenants *tenants, const struct sessions_one *session);

/* tenant_unread.c: unread welcomes. */
bool tenant_is_unread(const struct tenant_visit *visit);
/* Counts a welcome before it is sent. False: its peer has too many unread ones. */
bool tenant_unread_begin(struct tenant_visit *visit);
void tenant_unread_end(struct tenant_visit *visit);
/* Keeps the visit until its welcome is read; tenant_unread_look() then ends it. */
void tenant_unread_await(struct tenant_visit *visit);
void tenant_unread_look(struct tenant_visit *visit, short what);
unsigned tenant_connections_max(const struct tenants *tenants, bool is_doors);

/* tenant_visit.c: tenant_batch_begin() is called before a session is created for a door.
 * tenant_batch_end() is called at the end of the turn: it saves the sessions of the turn together,
 * and only then lets their processes in. */
void tenant_batch_begin(struct tenants *tenants);
void tenant_batch_end(struct tenants *tenants);

/* tenant_visit.c: handles an accepted connection, and takes ownership of `fd`. One of `listener`
 * and `door` is NULL. */
void tenant_visit_begin(struct tenant_listener *listener, struct tenant_door *door, int fd);
void tenant_visit_end(struct tenant_visit *visit);
/* Called when the visit's session or door is removed: ends the visit, unless its welcome is
 * unread. */
void tenant_visit_leave(struct tenant_visit *visit);

/* tenant_peer.c: tenant_peer_read() finds user and process of a connection; false: the peer is
 * gone. tenant_peer_identify() reads the control group, when the peer is let in. */
bool tenant_peer_read(int socket, struct tenant_peer *ret);
void tenant_peer_identify(struct tenant_peer *peer);
int tenant_peer_container(const struct tenant_peer *peer, struct cgroup *ret, struct error *err);
void tenant_peer_end(struct tenant_peer *peer);
/* Watches the process of a visit that was let in, and takes ownership of its peer.held. */
void tenant_watch(struct tenant_visit *visit);
void tenant_forget_all(struct tenant_listener *listener);

/* tenant_pages.c: returns a descriptor of a copy of the mount that the folder is on, from which
 * nothing can be run. A negative errno: no mounts can be made. */
int tenant_mount(const char *folder);
/* Whether a set-user-ID program in the folder would get its owner's rights. */
bool tenant_may_run_programs(const char *folder);
/* Opens the session's pages. `limits` stays with the listener; *ret_slots is a new open file
 * description, which the caller owns. */
int tenant_open_pages(struct tenant_listener *listener, int *ret_slots, struct error *err);

#endif
