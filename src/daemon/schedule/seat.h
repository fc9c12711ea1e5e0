/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A seat: what the scheduler keeps of a session, namely its two pages and its terms on each GPU.
 *
 * The daemon writes the page `limits`, which has the leases. The tenant writes the page `slots`,
 * which may contain anything and may be deleted. Claims read from `slots` are bounded at each
 * reading. A false claim costs the session its own turns, or makes other sessions wait up to
 * SCHED_DRAIN_MAX_NS at the end of a turn, which is charged to the session.
 *
 * `slots` is copied with pread() (0.4 us). It is mapped as well, because waiting for a futex needs
 * a mapping, but no code reads the mapping: a page fault waits as long as the tenant punches a hole
 * into the file (Linux 6.18), and a fault beyond the file's end is a SIGBUS. pread() does not wait
 * for hole punching, but it waits while the kernel unmaps a page from every process: 90 ms if the
 * tenant maps the file 260,000 times and collapses huge pages (MADV_COLLAPSE, 2026-11). So
 * seat_look() runs without a lock.
 *
 * Times are nanoseconds of clock_now_ns(). The caller holds the scheduler's lock (scheduler.c),
 * except for seat_open(), seat_look(), seat_has_changed(), and for seat_close() of a seat that no
 * other thread uses.
 */
#ifndef ALIQUOT_DAEMON_SCHEDULE_SEAT_H
#define ALIQUOT_DAEMON_SCHEDULE_SEAT_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "core/sched.h"
#include "core/sessions.h"
#include "proto/page.h"
#include "store/store.h"

/* The terms of a session on one GPU. Share i of a session uses row i of its pages. */
struct seat_share {
        uint8_t uuid[16];
        struct sched_terms terms;
};

/* Counters that a session's processes keep for a GPU. */
enum seat_counter {
        SEAT_BUSY_NS, /* GPU time, if it is measured */
        /* number of launches that waited; SEAT_WAITED_NS is their total waiting time */
        SEAT_WAITS,
        SEAT_WAITED_NS,
        SEAT_COUNTERS,
};

/* The content of `slots` at the last reading. */
struct seat_head {
        uint64_t magic; /* PAGE_SLOTS_MAGIC, unless the page is damaged */
        uint32_t bell;
        struct page_meter meter[SESSIONS_GPUS];
};

struct seat {
        uint8_t id[16];
        uint32_t owner_uid;
        uint64_t payer;                 /* sessions_payer() */
        char gang[SESSIONS_NAME_BYTES]; /* name of the session's gang */
        unsigned share_count;
        struct seat_share share[SESSIONS_GPUS];
        struct limits_page *limits;
        int slots; /* descriptor of `slots` */
        /* word of the mapped `slots`, for a futex wait; the daemon never reads it through this
         * pointer */
        const uint32_t *bell;
        /* the last content that seat_take() stored */
        struct seat_head head;
        uint64_t head_ns; /* time of that seat_take() */
        /* list of seats to be closed; members.c uses it */
        struct seat *next_leaving;
        /* counters already added to the totals; members.c uses it */
        uint64_t counted[SESSIONS_GPUS][SEAT_COUNTERS];
};

/* Opens the pages of an existing session and copies its terms; `store` and `session` are borrowed
 * for the call. The seat is freed by seat_close(). -ESTALE: `slots` was replaced by another file.
 * Also the errors of store_join_owned(). */
int seat_open(const struct store *store, const struct sessions_one *session, struct seat **ret,
              struct error *err);
void seat_close(struct seat *seat);

/* Fills in the terms of a session on each of its GPUs. The gang is left out, because the core knows
 * gangs by number (gangs.c). */
void seat_terms(const struct sessions_one *session, struct seat_share ret[SESSIONS_GPUS]);

/* What a session's processes claim about one GPU. */
struct seat_claim {
        uint64_t busy_ns; /* GPU time billed since the session's start */
        /* When a process last waited at the gate, and when work was last in flight; limited to the
         * present time. */
        uint64_t wanted_ns, active_ns;
        /* when it last launched after another session had the device; limited to the present
         * time */
        uint64_t began_ns;
        bool is_in_flight; /* it has not reported that nothing is in flight */
        /* GPU time left in the bucket that the processes keep, when it was last filled; below 0:
         * debt. */
        int64_t bucket_ns;
};

/* Reads the part of `slots` for the session's GPUs into `ret`, with zeros beyond the file's end. A
 * tenant can make it wait (see above). The result includes everything that was written before the
 * bell had the value `ret->bell`. seat_take() stores the result in the seat. */
void seat_look(const struct seat *seat, struct seat_head *ret);
void seat_take(struct seat *seat, const struct seat_head *head, uint64_t now_ns);

/* Whether a system call wrote to, truncated or punched `slots` at `since` (CLOCK_REALTIME_COARSE)
 * or later. Writes to mapped memory do not count. */
bool seat_has_changed(const struct seat *seat, struct timespec since);

/* Fills in what the session's processes report about the GPU of `share`, from the copy that
 * seat_take() stored last. False: by that copy, the file is truncated or damaged. */
bool seat_read(const struct seat *seat, unsigned share, uint64_t now_ns, struct seat_claim *ret);

/* Fills in the counters from the same copy. Honest programs only increase them; others can write
 * anything. */
void seat_count(const struct seat *seat, unsigned share, uint64_t ret[SEAT_COUNTERS]);

/* Returns the futex word that a process raises when it wants something. Only wait for it; do not
 * read it. */
const uint32_t *seat_bell(const struct seat *seat);

/* Writes the lease of a GPU, and wakes the processes that wait for it unless they must go on
 * waiting. Up to `target_ns` of work may be in flight; 0: no bound. */
void seat_tell(struct seat *seat, unsigned share, enum page_mode mode, uint64_t end_ns,
               uint64_t target_ns);

/* Writes the same lease with a new sequence number, so that processes that run without reading the
 * lease read it. */
void seat_nudge(struct seat *seat, unsigned share);

/* Writes to the page that there is a scheduler at `now_ns`; 0: there is none. */
void seat_beat(struct seat *seat, uint64_t now_ns);

#endif
