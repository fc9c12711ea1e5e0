/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the scheduler share, and nobody else.
 *
 *      scheduler.c     the thread, and what the loop asks
 *      members.c       who is there, with which terms, and who is watched; when something is due
 *      gangs.c         who has turns together
 *      hear.c          what the sessions' pages say, told to the core
 *      carry.c         what the core says, written into their leases
 *      owners.c        how much of the thread each owner may take
 *
 * Everything here is guarded by the scheduler's lock. `now_ns` is of clock_now_ns().
 */
#ifndef ALIQUOT_DAEMON_SCHEDULE_MEMBERS_H
#define ALIQUOT_DAEMON_SCHEDULE_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/sched.h"
#include "daemon/schedule/owners.h"
#include "daemon/schedule/seat.h"

#define NO_MEMBER SCHED_MEMBERS
/* So that nobody's sessions take a place that another's needs: a session has its own on each GPU.
 */
_Static_assert(SCHED_MEMBERS == SESSIONS_MOST * SESSIONS_GPUS, "each share can be a member");
_Static_assert(SCHED_DEVICES >= SESSIONS_GPUS, "each GPU has a device");
/* A member whose gate is open and of which nothing is seen for so long rests (sched_grace_ns()). */
#define MEMBER_IDLE_NS UINT64_C(200000)
_Static_assert(MEMBER_IDLE_NS == SCHED_GRACE_NS, "the core knows who may rest sooner");

/* A session that the scheduler deals turns to. */
struct seated {
        struct seat *seat; /* NULL: the entry is free */
        unsigned owner;    /* its index in the owners */
        uint32_t bell;     /* as it was last heard */
        uint32_t gang;     /* the core's number of it; 0: none */
        bool is_watched;   /* its page says that it has a scheduler */
        bool is_rung;      /* it may have rung since it was last heard */
        bool is_waited;    /* its bell is */
        bool is_spoilt;    /* its page is none any more; it is neither heard nor waited for */
        uint64_t beat_ns;
        uint32_t member[SESSIONS_GPUS]; /* NO_MEMBER: none */
};

/* Beside the core's own, by the same number: that of its session and share. */
struct member {
        struct seated *seated;
        unsigned share;
        bool is_anew;       /* what it measured until it is next heard does not count */
        uint64_t busy_ns;   /* as last heard */
        uint64_t open_ns;   /* when its gate was last opened, */
        uint64_t close_ns;  /* and closed */
        uint64_t leased_ns; /* when it last got the lease that it has; 0: it has none to miss */
        uint64_t active_ns; /* when it last ran or wanted */
        uint64_t rested_ns; /* when it was last seen to have nothing in flight */
        uint64_t look_ns;   /* what it said holds until then, if it says nothing new */
        uint64_t missed_ns; /* its gate was opened then, and closed before it began; 0: not */
        uint32_t misses;    /* turns on end that were over before it began */
        bool is_begun;      /* since its gate opened */
};

/* All sessions, and those of them that have launched. */
struct members {
        unsigned entries; /* one above the last of `seated` in use */
        struct seated seated[SESSIONS_MOST];
        uint8_t id[SESSIONS_MOST][16]; /* of who was last there: apart, so that one is found soon */
        struct member member[SCHED_MEMBERS];
        uint64_t now_ns;  /* the last that was told */
        uint64_t late_ns; /* how late the thread wakes up, the least of late */
        bool has_closed;  /* some gate, since this was cleared: its session may have more to say */
        unsigned device_count;
        uint8_t device[SCHED_DEVICES][16];
        uint32_t gangs;                 /* the last number that was given to one */
        uint64_t totals[SEAT_COUNTERS]; /* also of sessions that are gone */
        struct seat *leaving;           /* of sessions that are gone, to be closed; a list */
        struct owners owners;
        struct sched sched;
        struct sched_actions actions;
};

/* The session is to be heard: it is there, and its owner has not taken too much time. */
bool members_listens(const struct members *self, const struct seated *seated, uint64_t now_ns);

/* Its turns were promised or are urgent: it is heard before others. */
bool members_is_first(const struct members *self, const struct seated *seated);

/* Hears what the session says, if anything, by `head`, just read. */
void members_hear(struct members *self, struct seated *seated, const struct seat_head *head,
                  uint64_t now_ns);

/* Whose owner is not heard is not waited for either: its turns end without a drain. */
bool members_gives_up(const struct members *self, uint32_t at, uint64_t now_ns);
void members_give_up(struct members *self, uint64_t now_ns);

/* Says that there is a scheduler to those who need one. */
void members_watch(struct members *self, struct seated *seated, uint64_t now_ns);

/* Lets the scheduler know that time has passed. */
void members_tick(struct members *self, uint64_t now_ns);

/* When to look again although nobody says anything. `ret_is_busy`: somebody is watched. */
uint64_t members_due_ns(const struct members *self, uint64_t now_ns, bool *ret_is_busy);

/* The thread woke up so much later than it wanted to; and so much earlier it has to want to. 0
 * where that is what waking up takes. */
void members_note_late(struct members *self, uint64_t late_ns);
uint64_t members_late_ns(const struct members *self);

/* Its processes may ring, and it may be waited for: not while all of them are known to wait for
 * turns, nor where its owner is distrusted or not heard. */
bool members_may_ring(const struct members *self, const struct seated *seated, uint64_t now_ns);

/* A session that is not seated yet; `seat` is taken over. */
void members_seat(struct members *self, struct seat *take_seat);
/* One that is: its terms from now on, as many as it has shares, and its gang. */
void members_change(struct members *self, struct seated *seated, const struct seat_share *share,
                    const char *gang, uint64_t now_ns);
/* Its seat is added to the leaving ones, of which each is read once more, then counted, and
 * closed. */
void members_unseat(struct members *self, struct seated *seated, uint64_t now_ns);
void members_count_seat(struct members *self, struct seat *seat);
struct seated *members_find(struct members *self, const uint8_t id[16]);

/* Brings the totals up to date with what was last read. */
void members_count(struct members *self);

/* Whether the session has launched on some GPU. */
bool members_has(const struct seated *seated);

/* -- gangs.c ---------------------------------------------------------------------------------- */

/* The number of the gang that the seat is in, whoever else is: that of another session of its owner
 * with the same name, or a new one; 0: it has its turns by itself. */
uint32_t gangs_number(struct members *self, const struct seat *seat);

/* -- members.c, for hear.c -------------------------------------------------------------------- */

/* Its bells are polled from now on, as all of its owner's. */
void members_distrust(struct members *self, struct seated *seated);

/* It launched on a GPU: closed until the core says otherwise. Where that refuses, nothing. */
void members_add(struct members *self, struct seated *seated, unsigned share,
                 const struct seat_claim *claim, uint64_t now_ns);
/* Its gates are left open, and it goes by its own cap. */
void members_dismiss(struct members *self, struct seated *seated, uint64_t now_ns);

/* -- hear.c ----------------------------------------------------------------------------------- */

/* What a claim of so many nanoseconds counts. */
int64_t members_measured(uint64_t ns);

/* -- carry.c ---------------------------------------------------------------------------------- */

/* False: refused; self->actions says why. */
bool members_step(struct members *self, const struct sched_event *event, uint64_t now_ns);
void members_tell(struct members *self, uint32_t member, enum sched_event_type type, int64_t ns,
                  uint64_t now_ns);
/* A gate that is closed. Who is not known to want anything is not looked at: it has to ring. */
void members_tell_closed(struct members *self, uint32_t at, uint64_t now_ns);
/* From here on what it says counts; what it measured before does not. */
void members_begin_watch(struct members *self, struct seated *seated, uint64_t now_ns);
/* Who was away for so long that no gate was obeyed begins anew: every session went by its own cap
 * meanwhile. It may have been stopped anywhere, so this is asked before every step. */
void members_pass_time(struct members *self, uint64_t now_ns);

#endif
