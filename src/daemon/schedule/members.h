/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The internal interface between the files of the scheduler; no other file includes it.
 *
 *      scheduler.c     the thread, and the functions that the daemon's loop calls
 *      members.c       sessions and their terms, which of them need turns, when something is due
 *      gangs.c         which sessions have their turns together
 *      hear.c          reads the sessions' claims and passes them to the core
 *      carry.c         carries out the core's actions: writes the leases
 *      owners.c        limits the thread's processor time for each owner
 *
 * Words used below. A seat is what the scheduler keeps of a session: its two mapped pages and its
 * terms (seat.h). A member is one share of a session, of which the core (core/sched) decides when
 * it has turns. The gate of a member is open while its lease allows work. A session's bell is a
 * futex word in its page `slots`, which its programs raise when they want something. To hear a
 * session is to read its page and pass what it claims to the core. A session is watched while its
 * page says that there is a scheduler, so that its leases apply. A member rests when it neither
 * runs nor wants the device.
 *
 * The scheduler's lock guards everything declared here. `now_ns` is a value of clock_now_ns().
 */
#ifndef ALIQUOT_DAEMON_SCHEDULE_MEMBERS_H
#define ALIQUOT_DAEMON_SCHEDULE_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/sched.h"
#include "daemon/schedule/owners.h"
#include "daemon/schedule/seat.h"

#define NO_MEMBER SCHED_MEMBERS
/* Each share of a session has its own member number, so that no session can use up the numbers of
 * others. */
_Static_assert(SCHED_MEMBERS == SESSIONS_MAX * SESSIONS_GPUS, "each share can be a member");
_Static_assert(SCHED_DEVICES >= SESSIONS_GPUS, "each GPU has a device");
/* A member rests if its gate is open and it has shown no work for this long; see sched_grace_ns()
 * for exceptions. */
#define MEMBER_IDLE_NS UINT64_C(200000)
_Static_assert(MEMBER_IDLE_NS == SCHED_GRACE_NS, "the core knows who may rest sooner");

/* A session that the scheduler knows. */
struct seated {
        struct seat *seat; /* NULL: the entry is free */
        unsigned owner;    /* index of the session's owner in `owners` */
        uint32_t bell;     /* value of the bell when the session was last heard */
        uint32_t gang;     /* the core's number of the session's gang; 0: none */
        bool is_watched;   /* its page says that there is a scheduler */
        bool is_rung;      /* its bell may have been raised since it was last heard */
        bool is_waited;    /* the thread waits for its bell */
        /* its page is damaged: the session is not heard, and its bell not waited for */
        bool is_spoilt;
        uint64_t beat_ns;
        /* the member numbers of its shares; NO_MEMBER: the share has not launched */
        uint32_t member[SESSIONS_GPUS];
};

/* What the scheduler keeps of a member in addition to the core's struct sched_member of the same
 * number. The number is the session's index times SESSIONS_GPUS plus the share. */
struct member {
        struct seated *seated;
        unsigned share;
        /* usage that was measured before the member is next heard does not count */
        bool is_anew;
        uint64_t busy_ns;  /* the claimed GPU time when it was last read */
        uint64_t open_ns;  /* when the gate was last opened */
        uint64_t close_ns; /* when the gate was last closed */
        /* when the present lease was written; 0: there is no lease that the member could miss */
        uint64_t leased_ns;
        uint64_t active_ns; /* when the member last ran or wanted the device */
        uint64_t rested_ns; /* when the member was last seen to have nothing in flight */
        uint64_t look_ns;   /* when the member must be heard again, because its last claim ends */
        /* when the last turn began, if it ended before the member launched; 0: the member did not
         * miss its last turn */
        uint64_t missed_ns;
        uint32_t misses; /* number of turns missed in a row */
        bool is_begun;   /* the member has launched since its gate opened */
};

/* All sessions, and the members among their shares. */
struct members {
        unsigned entries; /* one more than the last used index of `seated` */
        struct seated seated[SESSIONS_MAX];
        /* id of the session at this index, or of the last one there; in an array of its own, so
         * that a search is quick */
        uint8_t id[SESSIONS_MAX][16];
        struct member member[SCHED_MEMBERS];
        uint64_t now_ns; /* the latest `now_ns` of a call */
        /* estimate of how late the thread wakes up: follows a decrease at once, an increase
         * slowly */
        uint64_t late_ns;
        /* some gate was closed since this was cleared, so its session may have more to report */
        bool has_closed;
        unsigned device_count;
        uint8_t device[SCHED_DEVICES][16];
        uint32_t gangs;                 /* the last number given to a gang */
        uint64_t totals[SEAT_COUNTERS]; /* sums over all sessions, including those that are gone */
        /* list of the seats of removed sessions, which the thread must close */
        struct seat *leaving;
        struct owners owners;
        struct sched sched;
        struct sched_actions actions;
};

/* Whether the session is heard now: it exists, its page is intact, and its owner has thread time
 * left. */
bool members_listens(const struct members *self, const struct seated *seated, uint64_t now_ns);

/* Whether the session is heard before others, because it has a guarantee or the class rt. */
bool members_is_first(const struct members *self, const struct seated *seated);

/* Hears the session from `head`, which was just read from its page. */
void members_hear(struct members *self, struct seated *seated, const struct seat_head *head,
                  uint64_t now_ns);

/* Whether the scheduler must stop waiting for the member's drain, because the session's owner has
 * no thread time left. */
bool members_gives_up(const struct members *self, uint32_t at, uint64_t now_ns);
void members_give_up(struct members *self, uint64_t now_ns);

/* Makes a session watched if it needs turns, and renews the time stamp in the page of a watched
 * session. */
void members_watch(struct members *self, struct seated *seated, uint64_t now_ns);

/* Passes the present time to the core. */
void members_tick(struct members *self, uint64_t now_ns);

/* Returns when the thread must run again even if no bell is raised. `ret_is_busy`: some session is
 * watched. */
uint64_t members_due_ns(const struct members *self, uint64_t now_ns, bool *ret_is_busy);

/* members_note_late() notes that the thread woke up late by `late_ns`. members_late_ns() returns
 * how much earlier the thread must ask to wake up; 0 if the delay is a normal one. */
void members_note_late(struct members *self, uint64_t late_ns);
uint64_t members_late_ns(const struct members *self);

/* Whether the thread may wait for the session's bell. False while all processes of the session
 * wait for turns, because they need not ring, and if its owner is distrusted or has no thread
 * time left. */
bool members_may_ring(const struct members *self, const struct seated *seated, uint64_t now_ns);

/* Adds a session that has no seat yet, and takes over `take_seat`. */
void members_seat(struct members *self, struct seat *take_seat);
/* Changes the terms of a session, one for each share, and its gang. */
void members_change(struct members *self, struct seated *seated, const struct seat_share *share,
                    const char *gang, uint64_t now_ns);
/* members_unseat() removes a session and moves its seat to `leaving`. The thread reads each of
 * these seats once more, counts it with members_count_seat(), and closes it. */
void members_unseat(struct members *self, struct seated *seated, uint64_t now_ns);
void members_count_seat(struct members *self, struct seat *seat);
struct seated *members_find(struct members *self, const uint8_t id[16]);

/* Adds what was last read from all pages to the totals. */
void members_count(struct members *self);

/* Whether the session has launched on any of its GPUs. */
bool members_has(const struct seated *seated);

/* -- gangs.c ---------------------------------------------------------------------------------- */

/* Returns the number of the seat's gang: that of another session of the same owner with the same
 * gang name, or else a new number. 0: no gang. */
uint32_t gangs_number(struct members *self, const struct seat *seat);

/* -- members.c, for hear.c -------------------------------------------------------------------- */

/* Distrusts the session's owner: from now on the bells of all its sessions are polled, not waited
 * for. */
void members_distrust(struct members *self, struct seated *seated);

/* Makes a share a member, because its session launched on the GPU. The gate stays closed until the
 * core opens it. Only logs a warning if the core refuses. */
void members_add(struct members *self, struct seated *seated, unsigned share,
                 const struct seat_claim *claim, uint64_t now_ns);
/* Removes the session's members and leaves its gates open; the session then keeps its own cap. */
void members_dismiss(struct members *self, struct seated *seated, uint64_t now_ns);

/* -- hear.c ----------------------------------------------------------------------------------- */

/* Returns `ns` as a time that the core accepts: at most 10 s. */
int64_t members_measured(uint64_t ns);

/* -- carry.c ---------------------------------------------------------------------------------- */

/* Steps the core with an event and carries out its actions. False: the core refused it;
 * self->actions has the reason. */
bool members_step(struct members *self, const struct sched_event *event, uint64_t now_ns);
void members_tell(struct members *self, uint32_t member, enum sched_event_type type, int64_t ns,
                  uint64_t now_ns);
/* Writes a closed lease. A member that is not known to want the device must raise its bell to get a
 * turn; the lease tells it so. */
void members_tell_closed(struct members *self, uint32_t at, uint64_t now_ns);
/* Makes the session watched. Usage that it measured before now does not count. */
void members_begin_watch(struct members *self, struct seated *seated, uint64_t now_ns);
/* Notes the present time. If the thread was away for so long that programs ignored their leases,
 * the accounts begin again: every session kept its own cap meanwhile. The thread can be stopped at
 * any instruction, so this runs before every step of the core. */
void members_pass_time(struct members *self, uint64_t now_ns);

#endif
