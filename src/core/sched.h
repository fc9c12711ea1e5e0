/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may use a GPU now, and until when. Decisions only; docs/compute.md says why.
 *
 *      sched_init(&sched);
 *      sched_step(&sched, &event, now, &actions);      // for every event, in order
 *      sched_next_ns(&sched)                           // SCHED_TICK is due then, at the latest
 *
 * A member is a session on one device. Its gate stands open or closed; what it has launched while
 * the gate was open runs to its end. One member of a device at a time has the gate open, but for
 * overlaps that are short or meant (below). Actions come out in the order in which they are to be
 * carried out:
 *
 *      FREE      open without an end: nobody else wants the device. The member keeps its hard cap
 *                itself; told again whenever .target_ns changes
 *      OPEN      open until .end_ns; also what turns FREE into a lease, and prolongs one
 *      CLOSE     closed. To be answered with DRAINED, when nothing of it is in flight any more
 *      ALARM     its debt has passed SCHED_ALARM_NS, once; it is carried all the same
 *
 * A new member is closed until told otherwise. An action may be repeated; the last one holds.
 *
 * Two accounts, of two kinds of time. *Held*: from OPEN to DRAINED, by the caller's clock; where k
 * members are on a device together each gets 1/k. Turns are dealt out by it. *Busy*: how long work
 * of the member was in flight, which USED tells; never more than it was on the device, alone or
 * not. Its hard cap is kept by it. Nothing that was used above a cap is ever forgiven.
 *
 * A drain is waited for until its deadline, SCHED_DRAIN_MOST_NS at most. Who has not drained by
 * then is *late*: the next one opens beside it, and nobody waits for it any more until it has
 * drained once. So work that never ends holds up nobody for longer than that. A member that is late
 * is passed over for a while if others are there: it would submit into its own flight, which then
 * would not end, and no turn would be one member's again.
 *
 * A member that comes back and outranks the holder ends the holder's turn: by the floor or a
 * guarantee that is a whole turn behind, by class, by a guarantee, or by virtual time where it lags
 * by more than a turn. While such a member sleeps, the holder may have little in flight.
 *
 * A gang is several members that open and close together: on different devices (one program on many
 * GPUs), or on the same one (sessions that fit beside each other). It takes its devices in their
 * order, so two gangs never wait for each other.
 *
 * What is told may come late, and costs accuracy only: WANT late by so much opens so much later,
 * and in FREE both WANT and RESTS do nothing but keep the books, so a look now and then is enough
 * there as long as nobody else is on the device.
 *
 * Time is monotonic, nanoseconds; one that goes back counts as standing still. All memory is the
 * caller's (struct sched: 17 MiB, struct sched_actions: 4 MiB, of which no page is touched that no
 * member needs); nothing here allocates or blocks. One step is a few walks over the members that
 * there are. One thread.
 */
#ifndef ALIQUOT_CORE_SCHED_H
#define ALIQUOT_CORE_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/histogram.h"

#define SCHED_DEVICES 16u
#define SCHED_MEMBERS 65536u /* of a node: every session that there can be, on each GPU */
#define SCHED_ACTIONS (2u * SCHED_MEMBERS)
#define SCHED_WHOLE_PPM 1000000u
#define SCHED_WEIGHT_MOST 10000u
#define SCHED_NEVER INT64_MAX

#define SCHED_US INT64_C(1000)
#define SCHED_MS INT64_C(1000000)

/* The constants of the policy; docs/compute-reference.md has the reasons. */
#define SCHED_LEASE_LEAST_NS (2 * SCHED_MS)
/* Above SCHED_LEASE_FEW contenders, each further one lengthens the lease by SCHED_LEASE_EACH_NS. */
#define SCHED_LEASE_FEW 4
#define SCHED_LEASE_EACH_NS (1 * SCHED_MS)
#define SCHED_LEASE_GANG_NS (6 * SCHED_MS) /* of several devices, at least */
#define SCHED_LEASE_MOST_NS (10 * SCHED_MS)
#define SCHED_LEASE_RT_NS (1 * SCHED_MS) /* while an rt member is on the device, */
#define SCHED_LEASE_RT_GAPS 32           /* and at least so many hand-over gaps */
#define SCHED_LEASE_GAPS 64              /* a lease is at least so many hand-over gaps */
/* How much GPU time a member may have in flight, by what else is on the device. */
#define SCHED_TARGET_LEASED_NS (2 * SCHED_MS)
#define SCHED_TARGET_QUIET_NS (50 * SCHED_MS) /* beside sessions that only sleep */
#define SCHED_TARGET_RT_NS (170 * SCHED_US)   /* want to yield: a kernel and 200 us */
/* Beside a sleeping member that would outrank it: a quarter of that member's usual pause, clamped
 * to these. */
#define SCHED_TARGET_LEAST_NS (200 * SCHED_US)
#define SCHED_TARGET_MOST_NS (1 * SCHED_MS)
#define SCHED_GAP_MOST_NS (4 * SCHED_MS)     /* longer gaps count as so long */
#define SCHED_NEIGHBOUR_NS (1000 * SCHED_MS) /* who wanted the device so lately is a neighbour */
/* Idle in a turn for so long, the member rests; who usually pauses longer does so sooner. */
#define SCHED_GRACE_NS (200 * SCHED_US)
#define SCHED_GRACE_SHORT_NS (50 * SCHED_US)
#define SCHED_CUT_PPM 50000u /* of the time, at most, is lost by ending turns early */
/* The burst of a hard cap's token bucket, as the time in which it fills, */
#define SCHED_BUCKET_SPAN_NS (20 * SCHED_MS)
#define SCHED_BUCKET_WAIT_NS (100 * SCHED_MS)  /* while others keep the member waiting; */
#define SCHED_PROMISE_SPAN_NS (100 * SCHED_MS) /* the burst of a guarantee; */
#define SCHED_LONG_MOST_NS (1000 * SCHED_MS)   /* both are more by what their long kernels take */
/* On a device with rt members, the time from the opening of a guaranteed turn to its first launch
 * is not billed to the guarantee: up to SCHED_REFUND_MOST_NS at once, and up to SCHED_REFUND_PPM of
 * the time. */
#define SCHED_REFUND_MOST_NS (150 * SCHED_US)
#define SCHED_REFUND_PPM 5000u
#define SCHED_FLOOR_PPM 10000u          /* of a device, for those who would otherwise never run */
#define SCHED_QUIET_NS (100 * SCHED_MS) /* others idle for so long: the last one is FREE */
#define SCHED_DRAIN_LEAST_NS (20 * SCHED_MS)  /* a drain is waited for so long, */
#define SCHED_DRAIN_LENGTHS 4                 /* or for so many of its usual length, */
#define SCHED_DRAIN_MOST_NS (1000 * SCHED_MS) /* but no longer */
/* A member whose drain missed its deadline gets no turn for as long as it had been late when it
 * last closed, clamped to these. */
#define SCHED_PASS_LEAST_NS (100 * SCHED_MS)
#define SCHED_PASS_MOST_NS (1000 * SCHED_MS)
#define SCHED_HOLD_MOST_NS (500 * SCHED_US)
#define SCHED_HOLD_PPM 50000u /* of the time, at most, is lost by holding the device for rt */
#define SCHED_LATE_MOST_NS (20 * SCHED_MS)  /* who wakes up late is expected so late, at most */
#define SCHED_AHEAD_MOST_NS (20 * SCHED_MS) /* of what is told beyond the time on the device */
#define SCHED_ALARM_NS (10000 * SCHED_MS)

/* In the order of rank; the numbers of sessions_one.priority. */
enum sched_class { SCHED_CLASS_BATCH, SCHED_CLASS_NORMAL, SCHED_CLASS_RT };

/* What was promised to a member, and what it must not pass. */
struct sched_terms {
        uint32_t cap_ppm;       /* of the device's time; SCHED_WHOLE_PPM: none */
        uint32_t guarantee_ppm; /* not above the cap; 0: none */
        uint32_t weight;        /* 1..SCHED_WEIGHT_MOST; 100 is usual */
        uint32_t gang;          /* members with the same number are one; 0: alone */
        uint8_t class;          /* enum sched_class; for a whole gang, changed one by one */
};

enum sched_mode {
        SCHED_MODE_NONE, /* the entry is free */
        SCHED_MODE_CLOSED,
        SCHED_MODE_OPEN,
        SCHED_MODE_FREE,
};

/* The reason for which a member was given its turn. */
enum sched_turn {
        SCHED_TURN_FAIR,  /* it has had least, by weight */
        SCHED_TURN_OWED,  /* its guarantee is behind */
        SCHED_TURN_FLOOR, /* it would starve */
};

/* What is known of a unit (a gang, or one that is in none), of each of its members alike. */
struct sched_unit {
        uint32_t step;      /* of sched.steps: when it was worked out */
        uint32_t devices;   /* a bit for each that it has a member on */
        uint32_t head;      /* its first member, which stands for it in claims */
        uint8_t decider;    /* the device whose order decides */
        uint8_t urgency;    /* why it goes before the classes, if it does */
        bool wants;         /* any member wants the device */
        bool may;           /* no member is held back by its cap */
        bool has_way;       /* it is urgent, or nobody of a higher class is in its way */
        int64_t most_ahead; /* of its head alone, while a device's order is worked out */
};

struct sched_member {
        struct sched_terms terms;
        uint8_t device;
        uint8_t mode;      /* enum sched_mode */
        uint8_t turn;      /* enum sched_turn; of the last time it opened */
        bool is_wanting;   /* launches are blocked, submitted or to come at once */
        bool is_draining;  /* closed, and what it submitted may still run */
        bool is_late;      /* it has not drained by its deadline: nobody waits until it has */
        bool is_back;      /* it slept, wants the device again, and has not had it since */
        bool is_protected; /* while OPEN: nobody outranks its turn */
        bool is_alarmed;   /* the debt was told */
        bool is_begun;     /* it has launched since it opened */
        bool is_cut;       /* its turn was taken from it: it wanted more when it closed */
        int64_t told_target_ns;
        int64_t open_ns;       /* when it last opened */
        int64_t end_ns;        /* of its lease */
        int64_t close_ns;      /* when it last closed */
        int64_t drain_ns;      /* how long its drains take that end, smoothed */
        int64_t late_since_ns; /* when it closed the first time since it last drained, if is_late */
        int64_t idle_ns;       /* since when it wants nothing */
        int64_t gap_ns;        /* how long it usually wants nothing; SCHED_NEVER: unknown */
        int64_t wait_since_ns; /* it wants, and is not open */
        int64_t missed_ns;     /* decaying estimate of how late it wakes up after its turn opens */
        /* Accounts. "Fine" is nanoseconds times a million, so that nothing is lost in rounding. */
        int64_t bucket_fine; /* level of its cap's token bucket; below 0: debt */
        int64_t saved_fine;  /* part of bucket_fine: saved while it waited, not used yet */
        int64_t long_fine;   /* part of saved_fine: earned during drains beyond a lease */
        int64_t owed_fine;   /* what its guarantee is behind */
        int64_t floor_fine;  /* the same of the floor */
        int64_t refund_fine; /* by so much its guarantee need not pay for beginning late */
        int64_t untold_ns;   /* time on the device that is not yet reported as busy */
        int64_t silent_ns;   /* on the device since anything was told */
        int64_t ahead_ns;    /* reported beyond untold_ns: billed against later time */
        struct sched_unit unit;
        int64_t ahead;  /* of its unit, in the order of its device */
        uint64_t vtime; /* held, by weight: ns * SCHED_WEIGHT_MOST / weight; wraps around */
        int64_t vtime_rest;
        int64_t kept_ns; /* for so long the device was kept for it, since its last turn */
        /* Totals for display, since the member was added. */
        int64_t held_ns, billed_ns, wait_ns, throttled_ns, overrun_ns;
        uint64_t leases;
        /* Links of rings and lists; each is the index of a member. */
        uint32_t next; /* on its device; SCHED_MEMBERS: the last */
        uint32_t mate; /* of its gang; itself if alone */
};

/* Histograms for display, since the scheduler began. */
struct sched_times {
        struct histogram
                wait[3]; /* by class: from wanting to opening, also where a cap was reached */
        struct histogram yield;    /* from a closing that cut a turn short to DRAINED */
        struct histogram handover; /* from there to the next one's first launch */
};

struct sched_device {
        uint32_t first; /* its members; SCHED_MEMBERS: none */
        /* Counts of its members in these states, recomputed after every event. */
        uint32_t wanting, wanting_below_rt, rt_members;
        uint32_t claim;     /* the head of the gang that waits to open here; SCHED_MEMBERS: none */
        uint64_t vtime[3];  /* by class: of who is next; never back */
        int64_t at_ns;      /* accounts are settled until then */
        int64_t gap_ns;     /* from DRAINED to the next one's first launch, smoothed */
        int64_t drained_ns; /* when somebody last has */
        int64_t hold_ns;    /* kept for rt until then */
        int64_t hold_fine;  /* what may still be lost by that, */
        int64_t cut_fine;   /* and by ending turns early */
        int64_t due_ns;     /* something is to be decided then */
        struct sched_times times;
};

/* To be read by anybody and written by sched_step() alone. A member keeps its index. */
struct sched {
        struct sched_device device[SCHED_DEVICES];
        int64_t now_ns; /* the latest time it was told */
        uint32_t steps; /* counted, from the beginning again at the end */
        /* Set by the caller: half of the shortest time after which it can look again. A turn that
         * is to open within coarse_ns opens now. 0: the caller is exact. */
        int64_t coarse_ns;
        /* The caller's to set: what a hand-over costs the device beyond the gap that is told. */
        int64_t unseen_ns;
        uint32_t entries; /* one above the last member that was ever added */
        struct sched_member member[SCHED_MEMBERS];
};

enum sched_event_type {
        SCHED_ADD,     /* .device, .terms; .member is a free index */
        SCHED_CHANGE,  /* .terms */
        SCHED_REMOVE,  /* it has ended, or died: nothing of it runs */
        SCHED_WANT,    /* it has blocked launches, or began to work in FREE */
        SCHED_RESTS,   /* nothing submitted, nothing blocked; for long enough, says who watches */
        SCHED_BEGAN,   /* its first launch since OPEN has gone out, .ns ago, or one before OPEN */
        SCHED_MISSED,  /* it came to its gate .ns after OPEN, and found it closed again */
        SCHED_USED,    /* it was busy for .ns since last told; before DRAINED and RESTS */
        SCHED_DRAINED, /* closed: nothing of it is in flight any more */
        SCHED_TICK,    /* time has passed; also implied in every other event */
};

struct sched_event {
        enum sched_event_type type;
        uint32_t member;
        uint8_t device;
        int64_t ns;
        struct sched_terms terms;
};

enum sched_action_type { SCHED_FREE, SCHED_OPEN, SCHED_CLOSE, SCHED_ALARM };

struct sched_action {
        enum sched_action_type type;
        uint32_t member;
        int64_t end_ns;    /* OPEN */
        int64_t target_ns; /* FREE, OPEN: have no more in flight than takes so long; 0: no bound */
};

struct sched_actions {
        const char *refused; /* NULL, or which field of the event makes no sense (static) */
        unsigned count;      /* 0 if refused; nothing has changed then */
        struct sched_action action[SCHED_ACTIONS];
};

/* NULL, or which of the terms makes no sense on the device, by the API's name: "compute",
 * "guarantee" (also: with those of the others more than the whole), "weight", "priority", "device".
 * `member`: whose terms they replace, or SCHED_MEMBERS. */
const char *sched_check(const struct sched *sched, uint32_t member, unsigned device,
                        const struct sched_terms *terms);

/* `ret` is all zero, or was initialized before. */
void sched_init(struct sched *ret);

void sched_step(struct sched *sched, const struct sched_event *event, int64_t now_ns,
                struct sched_actions *ret);

/* Nobody has looked for so long that no gate was obeyed: the time until now is nobody's, no account
 * fills or pays for it, and what was used in it is not told. A step is to follow. */
void sched_skip(struct sched *sched, int64_t now_ns);

/* When the next SCHED_TICK is due, always later than the last step; SCHED_NEVER: nothing is due. */
int64_t sched_next_ns(const struct sched *sched);

/* How long a member of which nothing is seen is still taken for one that wants the device. */
int64_t sched_grace_ns(const struct sched *sched, uint32_t member);

/* What the member may still use under its cap, now; less than 0: debt. */
int64_t sched_bucket_ns(const struct sched *sched, uint32_t member);

#endif
