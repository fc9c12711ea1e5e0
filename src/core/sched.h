/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scheduler: decides which session may submit work to a GPU, and until when. It only decides;
 * the caller opens and closes the gates. docs/compute.md gives the reasons.
 *
 *      sched_init(&sched);
 *      sched_step(&sched, &event, now, &actions);      // for every event, in order
 *      sched_next_ns(&sched)                           // when SCHED_TICK is due at the latest
 *
 * A member is a session on one device. Its gate is open or closed. Work that it submitted while the
 * gate was open runs to completion. On each device one member at a time has its gate open (the
 * holder), except for the overlaps described below. The caller carries out the actions in the order
 * given:
 *
 *      FREE      open without an end, because no other member wants the device. The member's own
 *                processes enforce its hard cap. Repeated whenever .target_ns changes
 *      OPEN      open until .end_ns. Also turns FREE into a lease, and prolongs a lease
 *      CLOSE     closed. The caller answers with DRAINED when none of the member's
 *                work is in flight
 *      ALARM     the member's debt has passed SCHED_ALARM_NS; sent once. The debt stays
 *
 * The gate of a new member is closed. If a member gets several actions, the last one holds.
 *
 * A member has two accounts, in two kinds of time. *Held* time runs from OPEN to DRAINED, by the
 * caller's clock; if k members are on a device at the same time, each is charged 1/k of that time.
 * Turns are shared out by held time: a member's virtual time is its held time divided by its
 * weight, and the member with the least virtual time is next. *Busy* time is how long the member
 * had work in flight, as the event USED reports it; it never exceeds the time that the member was
 * on the device. The hard cap limits busy time. Usage above a cap always stays as debt.
 *
 * The scheduler waits for a drain (until the work of the last member has completed) until the
 * drain's deadline, at most SCHED_DRAIN_MAX_NS. A member that has not drained by then is *late*:
 * the next member opens beside it, and no member waits for the late one again until it has drained
 * once. So work that never ends delays the other members only once. While other members are there,
 * a late member gets no turn for a while. Otherwise it would submit more work before the old work
 * completes, would never drain, and no member would have the device to itself again.
 *
 * If a member that had stopped wanting the device wants it again and outranks the holder, the
 * holder's turn ends. Ranks are compared in this order: members that would starve (the floor, a
 * small share for everybody) or whose guarantee is a whole turn behind; the class; a guarantee that
 * is behind at all; a virtual time that is more than a turn behind. While a member that would
 * outrank the holder sleeps, the holder may have only little work in flight.
 *
 * A gang is several members that open and close together: on different devices (one program on many
 * GPUs) or on the same device (sessions that fit beside each other). A gang claims its devices in
 * the order of their numbers, so two gangs never wait for each other.
 *
 * Events that arrive late cost accuracy only. A late WANT delays the opening by as much. While a
 * member is FREE, WANT and RESTS only keep the accounts, so the caller may poll rarely while one
 * member has the device alone.
 *
 * Time is monotonic, in nanoseconds; a time that goes back counts as no progress. The caller owns
 * all memory (struct sched: 17 MiB, struct sched_actions: 4 MiB; pages for members that do not
 * exist are never touched). No function allocates or blocks. One step walks the list of existing
 * members a few times. One thread.
 */
#ifndef ALIQUOT_CORE_SCHED_H
#define ALIQUOT_CORE_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/histogram.h"

#define SCHED_DEVICES 16u
#define SCHED_MEMBERS 65536u /* maximum per node: each possible session on each GPU */
#define SCHED_ACTIONS (2u * SCHED_MEMBERS)
#define SCHED_WHOLE_PPM 1000000u
#define SCHED_WEIGHT_MAX 10000u
#define SCHED_NEVER INT64_MAX

#define SCHED_US INT64_C(1000)
#define SCHED_MS INT64_C(1000000)

/* The constants of the policy; docs/compute-reference.md has the reasons. A lease is the length of
 * a turn; it is at least SCHED_LEASE_MIN_NS and at most SCHED_LEASE_MAX_NS, except on devices with
 * rt members. */
#define SCHED_LEASE_MIN_NS (2 * SCHED_MS)
/* With more than SCHED_LEASE_FEW members that want the device, each further one adds
 * SCHED_LEASE_EACH_NS to the lease. */
#define SCHED_LEASE_FEW 4
#define SCHED_LEASE_EACH_NS (1 * SCHED_MS)
#define SCHED_LEASE_GANG_NS (6 * SCHED_MS) /* minimum lease of a gang on several devices */
#define SCHED_LEASE_MAX_NS (10 * SCHED_MS)
/* On a device with rt members, a lease lasts SCHED_LEASE_RT_NS or SCHED_LEASE_RT_GAPS hand-over
 * gaps, whichever is longer, but at most SCHED_LEASE_MIN_NS. */
#define SCHED_LEASE_RT_NS (1 * SCHED_MS)
#define SCHED_LEASE_RT_GAPS 32
#define SCHED_LEASE_GAPS 64 /* minimum lease on other devices, in hand-over gaps */
/* How much GPU time a member may have in flight. It depends on the other members of the device:
 * the first bound holds while others want the device. */
#define SCHED_TARGET_LEASED_NS (2 * SCHED_MS)
#define SCHED_TARGET_QUIET_NS (50 * SCHED_MS) /* bound while the other members sleep */
/* bound beside an rt member that may come back: it then waits for a kernel and about 200 us */
#define SCHED_TARGET_RT_NS (170 * SCHED_US)
/* Bound while a member sleeps that would outrank the holder: a quarter of the sleeping member's
 * usual pause, clamped to these two values. */
#define SCHED_TARGET_MIN_NS (200 * SCHED_US)
#define SCHED_TARGET_MAX_NS (1 * SCHED_MS)
#define SCHED_GAP_MAX_NS (4 * SCHED_MS) /* longer pauses of a member count as this long */
/* A member that wanted the device within this time counts as a neighbour of the present holder. */
#define SCHED_NEIGHBOUR_NS (1000 * SCHED_MS)
/* A member that submits nothing for this long within its turn rests: its turn is over. A member
 * that usually makes longer pauses rests after SCHED_GRACE_SHORT_NS. */
#define SCHED_GRACE_NS (200 * SCHED_US)
#define SCHED_GRACE_SHORT_NS (50 * SCHED_US)
/* maximum part of a device's time that may be lost because turns are ended early */
#define SCHED_CUT_PPM 50000u
/* The burst of a hard cap's token bucket, as the time in which the bucket fills. */
#define SCHED_BUCKET_SPAN_NS (20 * SCHED_MS)
/* The burst of the token bucket while other members keep the member waiting. */
#define SCHED_BUCKET_WAIT_NS (100 * SCHED_MS)
/* the burst of a guarantee, as the time in which its account fills */
#define SCHED_PROMISE_SPAN_NS (100 * SCHED_MS)
/* Long kernels of other members enlarge both bursts, by at most this time. */
#define SCHED_LONG_MAX_NS (1000 * SCHED_MS)
/* On a device with rt members, the time between the opening of a guaranteed turn and the member's
 * first launch is not billed to the guarantee: at most SCHED_REFUND_MAX_NS per turn, and at most
 * SCHED_REFUND_PPM of the time. */
#define SCHED_REFUND_MAX_NS (150 * SCHED_US)
#define SCHED_REFUND_PPM 5000u
/* the floor: minimum share of a device for members that would starve */
#define SCHED_FLOOR_PPM 10000u
/* When the other members have been idle for this long, the last member becomes FREE. */
#define SCHED_QUIET_NS (100 * SCHED_MS)
/* How long to wait for a member to drain: SCHED_DRAIN_LENGTHS times the member's usual drain time,
 * but at least SCHED_DRAIN_MIN_NS and at most SCHED_DRAIN_MAX_NS. */
#define SCHED_DRAIN_MIN_NS (20 * SCHED_MS)
#define SCHED_DRAIN_LENGTHS 4
#define SCHED_DRAIN_MAX_NS (1000 * SCHED_MS)
/* After its gate has closed, a late member gets no turn for as long as it had been late by then:
 * the time from the first closing after its last completed drain, clamped to these two values. */
#define SCHED_PASS_MIN_NS (100 * SCHED_MS)
#define SCHED_PASS_MAX_NS (1000 * SCHED_MS)
/* How long the device is kept idle for an rt member that usually returns soon. */
#define SCHED_HOLD_MAX_NS (500 * SCHED_US)
/* Maximum part of a device's time that may be lost by keeping the device for rt members. */
#define SCHED_HOLD_PPM 50000u
/* Maximum of the estimate of how late a member wakes up. */
#define SCHED_LATE_MAX_NS (20 * SCHED_MS)
/* Maximum of usage reported beyond the time on the device that is carried on to the next turn. */
#define SCHED_AHEAD_MAX_NS (20 * SCHED_MS)
/* The debt at which SCHED_ALARM is sent. */
#define SCHED_ALARM_NS (10000 * SCHED_MS)

/* Classes in ascending rank, with the numbers of sessions_one.priority. */
enum sched_class { SCHED_CLASS_BATCH, SCHED_CLASS_NORMAL, SCHED_CLASS_RT };

/* A member's terms: what the scheduler guarantees, and what the member must not exceed. */
struct sched_terms {
        /* maximum part of the device's time for the member; SCHED_WHOLE_PPM: no cap */
        uint32_t cap_ppm;
        /* guaranteed part of the device's time, at most the cap; 0: no guarantee */
        uint32_t guarantee_ppm;
        /* share of turns relative to other members: 1..SCHED_WEIGHT_MAX, usually 100 */
        uint32_t weight;
        uint32_t gang; /* members with the same number form a gang; 0: no gang */
        /* enum sched_class; members of a gang have the same class, though it is changed one member
         * at a time */
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
        SCHED_TURN_FAIR,  /* the member had the least held time for its weight */
        SCHED_TURN_OWED,  /* the member is behind its guarantee */
        SCHED_TURN_FLOOR, /* the member would starve */
};

/* What is known of a unit: a gang, or a member without a gang. Each member of the unit has a
 * copy. */
struct sched_unit {
        uint32_t step;    /* the value of sched.steps when this copy was computed */
        uint32_t devices; /* a bit for each device on which the unit has a member */
        uint32_t head;    /* the unit's lowest member index; claims name the unit by it */
        uint8_t decider;  /* the device whose order decides when the unit opens */
        uint8_t urgency;  /* enum urgency: whether the unit goes before the classes, and why */
        bool wants;       /* at least one member wants its device */
        bool may;         /* the caps of all members let them run */
        /* no class keeps the unit waiting: it is urgent, or no unit of a higher class wants its
         * devices */
        bool has_way;
        int64_t max_ahead; /* scratch value of units_order(), in the head's copy only */
};

struct sched_member {
        struct sched_terms terms;
        uint8_t device;
        uint8_t mode;     /* enum sched_mode */
        uint8_t turn;     /* enum sched_turn of the last time it opened */
        bool is_wanting;  /* the member has blocked or submitted launches, or will launch at once */
        bool is_draining; /* the gate is closed, and the member's submitted work may still run */
        /* The member missed its drain deadline: no other member waits for it until it has
         * drained. */
        bool is_late;
        bool is_back;      /* the member slept, wants the device again, and has not had it since */
        bool is_protected; /* the present turn may not be ended early by other members */
        bool is_alarmed;   /* SCHED_ALARM was sent for the present debt */
        bool is_begun;     /* the member has launched since it opened */
        bool is_cut;       /* the turn ended while the member still wanted the device */
        int64_t told_target_ns; /* .target_ns of the last FREE or OPEN */
        int64_t open_ns;        /* when the member last opened */
        int64_t end_ns;         /* end of the member's present lease */
        int64_t close_ns;       /* when the member last closed */
        /* usual length of the member's drains: a smoothed mean of the completed ones */
        int64_t drain_ns;
        /* if is_late: when the member first closed after its last completed drain */
        int64_t late_since_ns;
        int64_t idle_ns;       /* when the member stopped wanting the device */
        int64_t gap_ns;        /* usual length of the member's pauses; SCHED_NEVER: unknown */
        int64_t wait_since_ns; /* since when the member has wanted the device without being open */
        /* decaying estimate of how late the member's process wakes up after its turn opens */
        int64_t missed_ns;
        /* The accounts. The suffix "_fine" is nanoseconds times a million, so that rounding loses
         * nothing. */
        int64_t bucket_fine; /* level of the cap's token bucket; below 0: debt */
        /* part of bucket_fine: saved while the member waited, and not used yet */
        int64_t saved_fine;
        /* part of saved_fine: earned during other members' drains that were longer than a lease */
        int64_t long_fine;
        int64_t owed_fine;  /* how far the member is behind its guarantee */
        int64_t floor_fine; /* how far the member is behind the floor */
        /* how much late beginnings of turns may still credit to the guarantee */
        int64_t refund_fine;
        int64_t untold_ns; /* time on the device not yet reported as busy */
        int64_t silent_ns; /* time on the device since the last report */
        /* usage reported beyond untold_ns; the time that the member spends on the device later
         * pays for it */
        int64_t ahead_ns;
        struct sched_unit unit;
        int64_t ahead;  /* how far the member's unit is ahead in the order of the device */
        uint64_t vtime; /* virtual time: held ns * SCHED_WEIGHT_MAX / weight; wraps around */
        /* the rest of the division in vtime */
        int64_t vtime_rest;
        /* how long the device was kept idle for the member since the member's last turn */
        int64_t kept_ns;
        /* Totals since the member was added, for display. */
        int64_t held_ns, billed_ns, wait_ns, throttled_ns, overrun_ns;
        uint64_t leases;
        /* Links of lists; each link is the index of a member. */
        uint32_t next; /* the next member on the same device; SCHED_MEMBERS: this is the last one */
        /* the next member of the same gang, in a ring; without a gang, the member itself */
        uint32_t mate;
};

/* Histograms since the scheduler began, for display. */
struct sched_times {
        /* by class: from wanting to opening, including time in which the cap closes the gate */
        struct histogram wait[3];
        struct histogram yield;    /* time from a closing that cut a turn short to DRAINED */
        struct histogram handover; /* time from DRAINED to the next member's first launch */
};

struct sched_device {
        /* first of the device's members, see sched_member.next; SCHED_MEMBERS: none */
        uint32_t first;
        /* How many of the device's members are in these states; recomputed after every event. */
        uint32_t wanting, wanting_below_rt, rt_members;
        /* the head of the gang that waits to open on this device; SCHED_MEMBERS: none */
        uint32_t claim;
        /* by class: virtual time of the member whose turn is next; never decreases */
        uint64_t vtime[3];
        int64_t at_ns;      /* time up to which the accounts are settled */
        int64_t gap_ns;     /* time from DRAINED to the next member's first launch, smoothed */
        int64_t drained_ns; /* when a member last drained */
        int64_t hold_ns;    /* until when the device is kept idle for rt members */
        /* budget of time that may be lost because the device is kept for rt members */
        int64_t hold_fine;
        int64_t cut_fine; /* budget of time that may be lost because turns are ended early */
        int64_t due_ns;   /* when the next decision is due */
        struct sched_times times;
};

/* The state. Any code may read it; only sched_step() writes it. A member keeps its index. */
struct sched {
        struct sched_device device[SCHED_DEVICES];
        int64_t now_ns; /* the latest time that the caller gave */
        uint32_t steps; /* number of steps; wraps around */
        /* Set by the caller: half of the shortest time after which the caller can poll again. A
         * turn that would open within coarse_ns opens now. 0: the caller is exact. */
        int64_t coarse_ns;
        /* Set by the caller: the cost of a hand-over beyond the gap that the events report. */
        int64_t unseen_ns;
        uint32_t entries; /* one above the highest index that was ever used */
        struct sched_member member[SCHED_MEMBERS];
};

enum sched_event_type {
        SCHED_ADD,    /* a new member: .device, .terms; .member must be a free index */
        SCHED_CHANGE, /* the member's terms change: .terms */
        SCHED_REMOVE, /* the member has ended or died; none of its work runs */
        SCHED_WANT,   /* the member has blocked launches, or it began to work while FREE */
        /* the member has submitted nothing and blocked nothing for longer than the grace time */
        SCHED_RESTS,
        /* the member's first launch since OPEN went out .ns ago (if .ns is longer: before OPEN) */
        SCHED_BEGAN,
        /* the member came to its gate .ns after OPEN and found the gate closed again */
        SCHED_MISSED,
        /* the member was busy for .ns since its last report; sent before DRAINED and RESTS */
        SCHED_USED,
        SCHED_DRAINED, /* after CLOSE: none of the member's work is in flight any more */
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
        int64_t end_ns; /* OPEN: when the gate closes */
        /* FREE, OPEN: the member must keep less GPU time than this in flight; 0: no bound */
        int64_t target_ns;
};

struct sched_actions {
        const char *refused; /* NULL, or the name of the event's invalid field (a static string) */
        unsigned count;      /* 0 if the event was refused; then nothing has changed */
        struct sched_action action[SCHED_ACTIONS];
};

/* Checks a member's terms for a device. Returns NULL, or the API's name of the invalid field:
 * "compute", "guarantee" (even if only the sum of the device's guarantees exceeds the whole),
 * "weight", "priority" or "device". `member`: the member whose terms would be replaced, or
 * SCHED_MEMBERS for a new one. */
const char *sched_check(const struct sched *sched, uint32_t member, unsigned device,
                        const struct sched_terms *terms);

/* Initializes the state. `ret` must be all zero, or initialized earlier. */
void sched_init(struct sched *ret);

/* Takes one event into account, and writes the resulting actions to `ret`. */
void sched_step(struct sched *sched, const struct sched_event *event, int64_t now_ns,
                struct sched_actions *ret);

/* Skips the time until now. For a caller that did not poll for so long that no gate was obeyed: no
 * account fills or pays for that time, and usage in it is not billed. Call sched_step() next. */
void sched_skip(struct sched *sched, int64_t now_ns);

/* Returns when the next SCHED_TICK is due, always later than the last step; SCHED_NEVER: none is
 * due. */
int64_t sched_next_ns(const struct sched *sched);

/* Returns how long a member that submits nothing still counts as one that wants the device. */
int64_t sched_grace_ns(const struct sched *sched, uint32_t member);

/* Returns how much busy time the cap still allows the member now; a negative value is debt. */
int64_t sched_bucket_ns(const struct sched *sched, uint32_t member);

#endif
