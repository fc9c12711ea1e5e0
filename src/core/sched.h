/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scheduler: decides which session may submit work to a GPU, and until when. It only decides;
 * the caller opens and closes the gates. docs/compute.md gives the reasons.
 *
 *      sched_init(&sched);
 *      sched_step(&sched, &event, now, &actions);      // for every event, in order
 *      sched_next_ns(&sched)                           // SCHED_TICK is due then, at the latest
 *
 * A member is a session on one device. Its gate is open or closed. Work that it submitted while the
 * gate was open runs to completion. On each device one member at a time has its gate open, except
 * for the short or intended overlaps below. The caller carries out the actions in the order given:
 *
 *      FREE      open without an end, because no other member wants the device. The member's own
 *                processes keep its hard cap. Repeated whenever .target_ns changes
 *      OPEN      open until .end_ns. Also turns FREE into a lease, and prolongs a lease
 *      CLOSE     closed. The caller answers with DRAINED when none of the member's
 *                work is in flight
 *      ALARM     the member's debt has passed SCHED_ALARM_NS; sent once. The debt stays
 *
 * A new member's gate is closed. An action may be repeated; the last one holds.
 *
 * A member has two accounts, in two kinds of time. *Held* time runs from OPEN to DRAINED, by the
 * caller's clock; k members that are on a device together get 1/k each. Turns are shared out by
 * held time. *Busy* time is how long the member had work in flight, as USED reports it; it never
 * exceeds the time that the member was on the device. The hard cap limits busy time. Usage above a
 * cap always stays as debt.
 *
 * The scheduler waits for a drain until its deadline, at most SCHED_DRAIN_MAX_NS. A member that
 * has not drained by then is *late*: the next member opens beside it, and no member waits for the
 * late one again until it has drained once. So work that never ends delays the others only once.
 * While other members are there, a late member gets no turn for a while. Otherwise it would submit
 * more work before the old work completes, would never drain, and no member would have the device
 * to itself again.
 *
 * A member that comes back and outranks the holder ends the holder's turn. It outranks the holder
 * by the floor or by a guarantee that is a whole turn behind, then by class, by a guarantee, or by
 * a virtual time that is more than a turn behind. While such a member sleeps, the holder may have
 * little work in flight.
 *
 * A gang is several members that open and close together: on different devices (one program on many
 * GPUs) or on the same device (sessions that fit beside each other). A gang claims its devices in
 * the order of their numbers, so two gangs never wait for each other.
 *
 * Late events cost accuracy only. A late WANT delays the opening by as much. In FREE, WANT and
 * RESTS only keep the accounts, so the caller may poll rarely while one member has the device
 * alone.
 *
 * Time is monotonic, in nanoseconds; a time that goes back counts as no progress. The caller owns
 * all memory (struct sched: 17 MiB, struct sched_actions: 4 MiB; pages for members that do not
 * exist are never touched). Nothing here allocates or blocks. One step walks the list of existing
 * members a few times. One thread.
 */
#ifndef ALIQUOT_CORE_SCHED_H
#define ALIQUOT_CORE_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/histogram.h"

#define SCHED_DEVICES 16u
#define SCHED_MEMBERS 65536u /* of a node: each possible session on each GPU */
#define SCHED_ACTIONS (2u * SCHED_MEMBERS)
#define SCHED_WHOLE_PPM 1000000u
#define SCHED_WEIGHT_MAX 10000u
#define SCHED_NEVER INT64_MAX

#define SCHED_US INT64_C(1000)
#define SCHED_MS INT64_C(1000000)

/* The constants of the policy; docs/compute-reference.md has the reasons. */
#define SCHED_LEASE_MIN_NS (2 * SCHED_MS)
/* With more than SCHED_LEASE_FEW contenders, each further one adds SCHED_LEASE_EACH_NS to the
 * lease. */
#define SCHED_LEASE_FEW 4
#define SCHED_LEASE_EACH_NS (1 * SCHED_MS)
#define SCHED_LEASE_GANG_NS (6 * SCHED_MS) /* minimum for a gang on several devices */
#define SCHED_LEASE_MAX_NS (10 * SCHED_MS)
#define SCHED_LEASE_RT_NS (1 * SCHED_MS) /* while an rt member is on the device, */
#define SCHED_LEASE_RT_GAPS 32           /* and at least this many hand-over gaps */
#define SCHED_LEASE_GAPS 64              /* minimum length of a lease, in hand-over gaps */
/* How much GPU time a member may have in flight; it depends on the other members of the device. */
#define SCHED_TARGET_LEASED_NS (2 * SCHED_MS)
#define SCHED_TARGET_QUIET_NS (50 * SCHED_MS) /* the other members sleep */
#define SCHED_TARGET_RT_NS (170 * SCHED_US)   /* an rt member waits: a kernel and 200 us */
/* An outranking member sleeps: a quarter of that member's usual pause, clamped to these bounds. */
#define SCHED_TARGET_MIN_NS (200 * SCHED_US)
#define SCHED_TARGET_MAX_NS (1 * SCHED_MS)
#define SCHED_GAP_MAX_NS (4 * SCHED_MS) /* longer gaps count as this long */
/* a member that wanted the device within this time is a neighbour */
#define SCHED_NEIGHBOUR_NS (1000 * SCHED_MS)
/* A member that is idle for this long within its turn rests. A member that usually makes longer
 * pauses rests after SCHED_GRACE_SHORT_NS. */
#define SCHED_GRACE_NS (200 * SCHED_US)
#define SCHED_GRACE_SHORT_NS (50 * SCHED_US)
#define SCHED_CUT_PPM 50000u /* maximum part of the time lost by ending turns early */
/* The burst of a hard cap's token bucket, as the time in which the bucket fills: */
#define SCHED_BUCKET_SPAN_NS (20 * SCHED_MS)
/* the same while other members keep the member waiting */
#define SCHED_BUCKET_WAIT_NS (100 * SCHED_MS)
#define SCHED_PROMISE_SPAN_NS (100 * SCHED_MS) /* the burst of a guarantee */
/* long kernels add to both bursts, at most this much */
#define SCHED_LONG_MAX_NS (1000 * SCHED_MS)
/* On a device with rt members, the time between the opening of a guaranteed turn and its first
 * launch is not billed to the guarantee: at most SCHED_REFUND_MAX_NS a turn, and at most
 * SCHED_REFUND_PPM of the time. */
#define SCHED_REFUND_MAX_NS (150 * SCHED_US)
#define SCHED_REFUND_PPM 5000u
#define SCHED_FLOOR_PPM 10000u /* minimum share of a device for members that would starve */
/* when the others are idle for this long, the last member is FREE */
#define SCHED_QUIET_NS (100 * SCHED_MS)
#define SCHED_DRAIN_MIN_NS (20 * SCHED_MS) /* minimum time to wait for a drain, */
#define SCHED_DRAIN_LENGTHS 4 /* or this many times the member's usual drain, if longer, */
#define SCHED_DRAIN_MAX_NS (1000 * SCHED_MS) /* and the maximum */
/* A member that missed its drain deadline gets no turn for as long as its last drain was late,
 * clamped to these bounds. */
#define SCHED_PASS_MIN_NS (100 * SCHED_MS)
#define SCHED_PASS_MAX_NS (1000 * SCHED_MS)
#define SCHED_HOLD_MAX_NS (500 * SCHED_US)
/* maximum part of the time lost by keeping the device for rt members */
#define SCHED_HOLD_PPM 50000u
/* maximum of the estimate how late a member wakes up */
#define SCHED_LATE_MAX_NS (20 * SCHED_MS)
/* maximum of usage reported beyond the time on the device */
#define SCHED_AHEAD_MAX_NS (20 * SCHED_MS)
#define SCHED_ALARM_NS (10000 * SCHED_MS)

/* In ascending rank, numbered as sessions_one.priority. */
enum sched_class { SCHED_CLASS_BATCH, SCHED_CLASS_NORMAL, SCHED_CLASS_RT };

/* A member's limits: what the scheduler guarantees, and what the member must not exceed. */
struct sched_terms {
        uint32_t cap_ppm;       /* maximum part of the device's time; SCHED_WHOLE_PPM: no cap */
        uint32_t guarantee_ppm; /* minimum part, at most the cap; 0: no guarantee */
        uint32_t weight;        /* 1..SCHED_WEIGHT_MAX; usually 100 */
        uint32_t gang;          /* members with the same number form a gang; 0: no gang */
        /* enum sched_class; equal for all members of a gang, though changed one by one */
        uint8_t class;
};

enum sched_mode {
        SCHED_MODE_NONE, /* the entry is free */
        SCHED_MODE_CLOSED,
        SCHED_MODE_OPEN,
        SCHED_MODE_FREE,
};

/* Why a member got its turn. */
enum sched_turn {
        SCHED_TURN_FAIR,  /* it had the least held time for its weight */
        SCHED_TURN_OWED,  /* it is behind its guarantee */
        SCHED_TURN_FLOOR, /* it would starve */
};

/* A unit is a gang, or a member without a gang. Each member of the unit has a copy of this. */
struct sched_unit {
        uint32_t step;    /* the value of sched.steps when this copy was computed */
        uint32_t devices; /* a bit for each device on which the unit has a member */
        uint32_t head;    /* its first member; claims name the unit by it */
        uint8_t decider;  /* the device whose order decides when the unit opens */
        uint8_t urgency;  /* enum urgency: why the unit goes before the classes */
        bool wants;       /* any member wants the device */
        bool may;         /* no member is held back by its cap */
        /* the unit is urgent, or no unit of a higher class wants one of its devices */
        bool has_way;
        int64_t most_ahead; /* only in the head, and only while units_order() runs */
};

struct sched_member {
        struct sched_terms terms;
        uint8_t device;
        uint8_t mode;     /* enum sched_mode */
        uint8_t turn;     /* enum sched_turn of the last time it opened */
        bool is_wanting;  /* it has blocked or submitted launches, or will launch at once */
        bool is_draining; /* closed, and its submitted work may still run */
        /* it missed its drain deadline: no member waits for it until it has drained */
        bool is_late;
        bool is_back;      /* it slept, wants the device again, and has not had it since */
        bool is_protected; /* while OPEN: no member may end its turn */
        bool is_alarmed;   /* SCHED_ALARM was sent for the present debt */
        bool is_begun;     /* it has launched since it opened */
        bool is_cut;       /* its turn ended while it still wanted the device */
        int64_t told_target_ns;
        int64_t open_ns;       /* when it last opened */
        int64_t end_ns;        /* end of its lease */
        int64_t close_ns;      /* when it last closed */
        int64_t drain_ns;      /* length of its completed drains, smoothed */
        int64_t late_since_ns; /* if is_late: when it first closed after its last completed drain */
        int64_t idle_ns;       /* when it stopped wanting the device */
        int64_t gap_ns;        /* usual length of its pauses; SCHED_NEVER: unknown */
        int64_t wait_since_ns; /* since when it wants the device and is not open */
        int64_t missed_ns;     /* decaying estimate of how late it wakes up after its turn opens */
        /* Accounts. "_fine" is nanoseconds times a million, so that rounding loses nothing. */
        int64_t bucket_fine; /* level of its cap's token bucket; below 0: debt */
        int64_t saved_fine;  /* part of bucket_fine: saved while it waited, not used yet */
        int64_t long_fine;   /* part of saved_fine: earned during drains longer than a lease */
        int64_t owed_fine;   /* how much its guarantee is behind */
        int64_t floor_fine;  /* how much its floor is behind */
        int64_t refund_fine; /* time that a late beginning takes from no guarantee */
        int64_t untold_ns;   /* time on the device not yet reported as busy */
        int64_t silent_ns;   /* time on the device since the last report */
        /* usage reported beyond untold_ns; later time on the device pays for it */
        int64_t ahead_ns;
        struct sched_unit unit;
        int64_t ahead;  /* how far its unit is ahead in the order of its device */
        uint64_t vtime; /* held time by weight: ns * SCHED_WEIGHT_MAX / weight; wraps around */
        int64_t vtime_rest;
        int64_t kept_ns; /* how long the device was kept idle for it since its last turn */
        /* Totals for display, since the member was added. */
        int64_t held_ns, billed_ns, wait_ns, throttled_ns, overrun_ns;
        uint64_t leases;
        /* Links of lists; each is the index of a member. */
        uint32_t next; /* the next member on its device; SCHED_MEMBERS: it is the last */
        uint32_t mate; /* the next member of its gang, in a ring; itself without a gang */
};

/* Histograms for display, since the scheduler began. */
struct sched_times {
        struct histogram wait[3]; /* by class: from wanting to opening, including waits for a cap */
        struct histogram yield;   /* from a closing that cut a turn short to DRAINED */
        struct histogram handover; /* from DRAINED to the next member's first launch */
};

struct sched_device {
        uint32_t first; /* head of the list of its members; SCHED_MEMBERS: none */
        /* Counts of its members in these states, recomputed after every event. */
        uint32_t wanting, wanting_below_rt, rt_members;
        uint32_t claim;     /* the head of the gang that waits to open here; SCHED_MEMBERS: none */
        uint64_t vtime[3];  /* by class: of the next member; never decreases */
        int64_t at_ns;      /* the accounts are settled up to this time */
        int64_t gap_ns;     /* from DRAINED to the next member's first launch, smoothed */
        int64_t drained_ns; /* when a member last drained */
        int64_t hold_ns;    /* the device is kept for rt members until then */
        int64_t hold_fine;  /* budget of time that may be lost by keeping the device, */
        int64_t cut_fine;   /* and by ending turns early */
        int64_t due_ns;     /* when the next decision is due */
        struct sched_times times;
};

/* Any code may read it; only sched_step() writes it. A member keeps its index. */
struct sched {
        struct sched_device device[SCHED_DEVICES];
        int64_t now_ns; /* the latest time that the caller gave */
        uint32_t steps; /* number of steps; wraps around */
        /* Set by the caller: half of the shortest time after which the caller can look again. A
         * turn that would open within coarse_ns opens now. 0: the caller is exact. */
        int64_t coarse_ns;
        /* Set by the caller: the cost of a hand-over beyond the gap that the events report. */
        int64_t unseen_ns;
        uint32_t entries; /* one above the highest index that was ever used */
        struct sched_member member[SCHED_MEMBERS];
};

enum sched_event_type {
        SCHED_ADD,    /* .device, .terms; .member is a free index */
        SCHED_CHANGE, /* .terms */
        SCHED_REMOVE, /* the member has ended or died; none of its work runs */
        SCHED_WANT,   /* it has blocked launches, or it began to work in FREE */
        /* nothing is submitted and nothing is blocked, for longer than the grace time */
        SCHED_RESTS,
        SCHED_BEGAN,  /* its first launch since OPEN went out .ns ago (or before OPEN) */
        SCHED_MISSED, /* it came to its gate .ns after OPEN and found the gate closed again */
        SCHED_USED,   /* it was busy for .ns since the last report; sent before DRAINED and RESTS */
        SCHED_DRAINED, /* after CLOSE: none of its work is in flight any more */
        SCHED_TICK,    /* time has passed; every other event implies it */
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
        int64_t target_ns; /* FREE, OPEN: keep less GPU time than this in flight; 0: no bound */
};

struct sched_actions {
        const char *refused; /* NULL, or the name of the invalid field of the event (static) */
        unsigned count;      /* 0 if refused; then nothing has changed */
        struct sched_action action[SCHED_ACTIONS];
};

/* Checks a member's terms for a device. Returns NULL, or the API's name of the invalid one:
 * "compute", "guarantee" (also if the sum of the guarantees exceeds the whole device), "weight",
 * "priority" or "device". `member`: the member whose terms these replace, or SCHED_MEMBERS. */
const char *sched_check(const struct sched *sched, uint32_t member, unsigned device,
                        const struct sched_terms *terms);

/* `ret` is all zero, or was initialized before. */
void sched_init(struct sched *ret);

void sched_step(struct sched *sched, const struct sched_event *event, int64_t now_ns,
                struct sched_actions *ret);

/* Skips the time until now: the caller did not look for so long that no gate was obeyed. No account
 * fills or pays for that time, and no usage in it is reported. A step must follow. */
void sched_skip(struct sched *sched, int64_t now_ns);

/* When the next SCHED_TICK is due, always later than the last step; SCHED_NEVER: none is due. */
int64_t sched_next_ns(const struct sched *sched);

/* How long a member without any submission still counts as one that wants the device. */
int64_t sched_grace_ns(const struct sched *sched, uint32_t member);

/* How much busy time the cap still allows the member now; less than 0: debt. */
int64_t sched_bucket_ns(const struct sched *sched, uint32_t member);

#endif
