/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the scheduler share, and nobody else: members.c speaks with the core and with
 * the sessions' pages, gangs.c says who has turns together, scheduler.c has the thread and what the
 * loop asks.
 *
 * Everything here is guarded by the scheduler's lock. `now_ns` is of clock_now_ns().
 */
#ifndef ALIQUOT_DAEMON_SCHEDULE_MEMBERS_H
#define ALIQUOT_DAEMON_SCHEDULE_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/sched.h"
#include "daemon/schedule/seat.h"

#define NO_MEMBER SCHED_MEMBERS

/* A session that is there. */
struct seated {
        struct seat *seat; /* NULL: the place is free */
        uint32_t bell;     /* as it was last read */
        uint32_t gang;     /* the core's number of it; 0: none */
        bool is_watched;   /* its page says that it has a scheduler */
        uint64_t beat_ns;
        uint16_t member[SESSIONS_GPUS]; /* NO_MEMBER: none */
        bool is_clamped[SESSIONS_GPUS]; /* what it says of that GPU is not believed */
        uint64_t counted[SESSIONS_GPUS][SEAT_COUNTERS]; /* what is in the totals of it */
};

/* Beside the core's own, by the same number. */
struct member {
        struct seated *seated;
        unsigned share;
        uint64_t busy_ns;   /* as last read */
        uint64_t open_ns;   /* when its gate was last opened, */
        uint64_t close_ns;  /* and closed */
        uint64_t active_ns; /* when it last ran or wanted */
        uint64_t look_ns;   /* what it said holds until then, if it says nothing new */
        bool is_begun;      /* since its gate opened */
        bool is_left_told;  /* since it closed: what is left of its work */
        bool is_doubted;    /* clamped, and seen to use what it did not hold */
};

/* All sessions, and those of them that have launched. */
struct members {
        unsigned places; /* one above the last of `seated` in use */
        struct seated seated[SESSIONS_MOST];
        uint8_t id[SESSIONS_MOST][16]; /* of who was last there: apart, so that one is found soon */
        struct member member[SCHED_MEMBERS];
        uint64_t now_ns; /* the last that was told */
        unsigned device_count;
        uint8_t device[SCHED_DEVICES][16];
        uint32_t gangs;                 /* the last number that was given to one */
        uint64_t totals[SEAT_COUNTERS]; /* also of sessions that are gone */
        struct sched sched;
        struct sched_actions actions;
};

/* Hears what the session says, if anything. It may be unseated by that. */
void members_hear(struct members *self, struct seated *seated, uint64_t now_ns);

/* Says that there is a scheduler to those who need one. */
void members_watch(struct members *self, struct seated *seated, uint64_t now_ns);

/* Time has passed. */
void members_tick(struct members *self, uint64_t now_ns);

/* When to look again although nobody says anything. `ret_is_busy`: somebody is watched. */
uint64_t members_due_ns(const struct members *self, uint64_t now_ns, bool *ret_is_busy);

/* A session that is not seated yet; `seat` is taken over. */
void members_seat(struct members *self, struct seat *take_seat);
/* One that is: its terms from now on, as many as it has shares, and its gang. */
void members_change(struct members *self, struct seated *seated, const struct seat_share *share,
                    const char *gang, uint64_t now_ns);
void members_unseat(struct members *self, struct seated *seated, uint64_t now_ns);
struct seated *members_find(struct members *self, const uint8_t id[16]);

/* Believes nothing that it says of the GPU from now on, or all again. */
void members_clamp(struct members *self, struct seated *seated, unsigned share, bool is_clamped,
                   uint64_t now_ns);

/* The driver shows that it used so much more than it told, and of that so much more than it held.
 * Nothing where it is no member. */
void members_found(struct members *self, const struct seated *seated, unsigned share, uint64_t ns,
                   uint64_t beyond_ns, uint64_t now_ns);

/* Brings the totals up to date. */
void members_count(struct members *self);

/* It has launched on some GPU. */
bool members_has(const struct seated *seated);

/* -- gangs.c ---------------------------------------------------------------------------------- */

/* The number of the gang that the seat is in, whoever else is: that of another session of its owner
 * with the same name, or a new one; 0: it has its turns by itself. */
uint32_t gangs_number(struct members *self, const struct seat *seat);

#endif
