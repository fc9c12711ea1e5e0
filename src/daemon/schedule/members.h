/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The internal interface between the files of the scheduler; no other file includes it.
 *
 *      scheduler.c     the thread, and the functions that the daemon's loop calls
 *      members.c       sessions and their terms, which of them are watched, when something is due
 *      gangs.c         which sessions have their turns together
 *      hear.c          reads the sessions' pages and tells the core
 *      carry.c         carries out the core's actions: writes the leases
 *      owners.c        how much of the thread each owner may take
 *
 * The scheduler's lock guards everything here. `now_ns` is of clock_now_ns().
 */
#ifndef ALIQUOT_DAEMON_SCHEDULE_MEMBERS_H
#define ALIQUOT_DAEMON_SCHEDULE_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/sched.h"
#include "daemon/schedule/owners.h"
#include "daemon/schedule/seat.h"

#define NO_MEMBER SCHED_MEMBERS
/* Each session has an entry of its own on each GPU, so no session takes another's entry. */
_Static_assert(SCHED_MEMBERS == SESSIONS_MAX * SESSIONS_GPUS, "each share can be a member");
_Static_assert(SCHED_DEVICES >= SESSIONS_GPUS, "each GPU has a device");
/* A member whose gate is open and that shows no work for this long rests (sched_grace_ns()). */
#define MEMBER_IDLE_NS UINT64_C(200000)
_Static_assert(MEMBER_IDLE_NS == SCHED_GRACE_NS, "the core knows who may rest sooner");

/* A session to which the scheduler gives turns. */
struct seated {
        struct seat *seat; /* NULL: the entry is free */
        unsigned owner;    /* its index in the owners */
        uint32_t bell;     /* its value when it was last heard */
        uint32_t gang;     /* the core's number of its gang; 0: none */
        bool is_watched;   /* its page says that it has a scheduler */
        bool is_rung;      /* it may have rung since it was last heard */
        bool is_waited;    /* the thread waits for its bell */
        bool is_spoilt;    /* its page is damaged: it is neither heard nor waited for */
        uint64_t beat_ns;
        uint32_t member[SESSIONS_GPUS]; /* NO_MEMBER: none */
};

/* Kept beside the core's own member of the same number; the number stands for a session and a
 * share. */
struct member {
        struct seated *seated;
        unsigned share;
        bool is_anew;       /* what it measured until it is next heard does not count */
        uint64_t busy_ns;   /* as last read */
        uint64_t open_ns;   /* when its gate was last opened, */
        uint64_t close_ns;  /* and closed */
        uint64_t leased_ns; /* when it last got its present lease; 0: it has no lease to miss */
        uint64_t active_ns; /* when it last ran or wanted the device */
        uint64_t rested_ns; /* when it was last seen to have nothing in flight */
        uint64_t look_ns;   /* its last claim holds until then, unless it makes a new one */
        /* when its gate opened and closed before it began; 0: it did not miss its last turn */
        uint64_t missed_ns;
        uint32_t misses; /* consecutive missed turns */
        bool is_begun;   /* it has begun since its gate opened */
};

/* All sessions, and those that have launched. */
struct members {
        unsigned entries; /* one above the last of `seated` in use */
        struct seated seated[SESSIONS_MAX];
        /* of the session that was last there; kept apart, so that a search is quick */
        uint8_t id[SESSIONS_MAX][16];
        struct member member[SCHED_MEMBERS];
        uint64_t now_ns;  /* the latest time given */
        uint64_t late_ns; /* how late the thread wakes up, the minimum of recent times */
        /* some gate has closed since this was cleared, so its session may have more to report */
        bool has_closed;
        unsigned device_count;
        uint8_t device[SCHED_DEVICES][16];
        uint32_t gangs;                 /* the last number given to a gang */
        uint64_t totals[SEAT_COUNTERS]; /* including sessions that are gone */
        struct seat *leaving;           /* list of seats of sessions that are gone, to be closed */
        struct owners owners;
        struct sched sched;
        struct sched_actions actions;
};

/* Whether the session is heard now: it exists, and its owner has not used up its time. */
bool members_listens(const struct members *self, const struct seated *seated, uint64_t now_ns);

/* Whether it is heard before others, because its turns are guaranteed or urgent. */
bool members_is_first(const struct members *self, const struct seated *seated);

/* Hears what the session's page says, if anything is new; `head` was just read. */
void members_hear(struct members *self, struct seated *seated, const struct seat_head *head,
                  uint64_t now_ns);

/* Whether the member's drain is not waited for, because its owner is not heard. */
bool members_gives_up(const struct members *self, uint32_t at, uint64_t now_ns);
void members_give_up(struct members *self, uint64_t now_ns);

/* Writes into the pages of sessions that need turns that there is a scheduler. */
void members_watch(struct members *self, struct seated *seated, uint64_t now_ns);

/* Lets the scheduler know that time has passed. */
void members_tick(struct members *self, uint64_t now_ns);

/* When to look again without any bell. `ret_is_busy`: some session is watched. */
uint64_t members_due_ns(const struct members *self, uint64_t now_ns, bool *ret_is_busy);

/* Notes that the thread woke up this late; members_late_ns(): how much earlier it must ask to wake
 * up, 0 if the delay is a normal one. */
void members_note_late(struct members *self, uint64_t late_ns);
uint64_t members_late_ns(const struct members *self);

/* Whether the bell may ring and the thread may wait for it. Not while all processes of the session
 * wait for turns, nor if its owner is distrusted or not heard. */
bool members_may_ring(const struct members *self, const struct seated *seated, uint64_t now_ns);

/* Adds a session that has no seat yet; takes over `seat`. */
void members_seat(struct members *self, struct seat *take_seat);
/* Changes a session: its terms, one for each share, and its gang. */
void members_change(struct members *self, struct seated *seated, const struct seat_share *share,
                    const char *gang, uint64_t now_ns);
/* Moves its seat to the leaving ones, each of which is read once more, counted, and closed. */
void members_unseat(struct members *self, struct seated *seated, uint64_t now_ns);
void members_count_seat(struct members *self, struct seat *seat);
struct seated *members_find(struct members *self, const uint8_t id[16]);

/* Updates the totals with what was last read. */
void members_count(struct members *self);

/* Whether the session has launched on some GPU. */
bool members_has(const struct seated *seated);

/* -- gangs.c ---------------------------------------------------------------------------------- */

/* The number of the seat's gang: that of another session of its owner with the same gang name, or a
 * new one; 0: no gang. */
uint32_t gangs_number(struct members *self, const struct seat *seat);

/* -- members.c, for hear.c -------------------------------------------------------------------- */

/* From now on polls its bells, as all of its owner's. */
void members_distrust(struct members *self, struct seated *seated);

/* The session launched on a GPU: its gate stays closed until the core opens it. Does nothing if the
 * core refuses. */
void members_add(struct members *self, struct seated *seated, unsigned share,
                 const struct seat_claim *claim, uint64_t now_ns);
/* Leaves its gates open; the session keeps its own cap. */
void members_dismiss(struct members *self, struct seated *seated, uint64_t now_ns);

/* -- hear.c ----------------------------------------------------------------------------------- */

/* Limits a claimed time to a plausible one. */
int64_t members_measured(uint64_t ns);

/* -- carry.c ---------------------------------------------------------------------------------- */

/* False: refused; self->actions says why. */
bool members_step(struct members *self, const struct sched_event *event, uint64_t now_ns);
void members_tell(struct members *self, uint32_t member, enum sched_event_type type, int64_t ns,
                  uint64_t now_ns);
/* Reads the claim of a member whose gate is closed. A member that is not known to want anything is
 * skipped: it must ring. */
void members_tell_closed(struct members *self, uint32_t at, uint64_t now_ns);
/* What the session reports counts from here on; what it measured before does not. */
void members_begin_watch(struct members *self, struct seated *seated, uint64_t now_ns);
/* If the thread was away for so long that no gate was obeyed, accounts begin again: every session
 * kept its own cap meanwhile. The thread can be stopped anywhere, so this runs before every
 * step. */
void members_pass_time(struct members *self, uint64_t now_ns);

#endif
