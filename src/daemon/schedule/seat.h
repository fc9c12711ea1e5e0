/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session as the scheduler sees it: its two pages, and its terms on each GPU.
 *
 * The daemon writes `limits`, which has the leases. The tenant writes `slots`, which may contain
 * anything and may be deleted. Its claims are bounded at each reading. A false claim costs the
 * session its own turns. It can make others wait for SCHED_DRAIN_MAX_NS at the end of a turn, and
 * that time is charged to the session.
 *
 * pread() copies `slots` into memory of ours (0.4 us). The page of `slots` is mapped too, because a
 * futex needs it, but no code touches it: a page fault waits as long as the tenant punches a hole
 * into the file (Linux 6.18), and beyond the file's end it is SIGBUS. A read does not wait for
 * that. But it waits while the kernel unmaps a page from every process: 90 ms if the tenant maps
 * the file 260,000 times and collapses huge pages (MADV_COLLAPSE, 2026-11). So seat_look() runs
 * without a lock.
 *
 * Times are nanoseconds of clock_now_ns(). A seat is used by one thread at a time: under the
 * scheduler's lock (scheduler.c), except seat_open(), seat_look(), seat_has_changed(), and
 * seat_close() of a seat that no other thread has.
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

/* One GPU of a session. Row i of its pages belongs to its share i. */
struct seat_share {
        uint8_t uuid[16];
        struct sched_terms terms;
};

/* What a session's processes counted on a GPU. */
enum seat_counter {
        SEAT_BUSY_NS, /* GPU time, where it is measured */
        SEAT_WAITS,   /* number and total time of launches that waited */
        SEAT_WAITED_NS,
        SEAT_COUNTERS,
};

/* The content of `slots` at the last reading. */
struct seat_head {
        uint64_t magic; /* other than PAGE_SLOTS_MAGIC: the page is damaged */
        uint32_t bell;
        struct page_meter meter[SESSIONS_GPUS];
};

struct seat {
        uint8_t id[16];
        uint32_t owner_uid;
        char gang[SESSIONS_NAME_BYTES]; /* name of the session's gang */
        unsigned share_count;
        struct seat_share share[SESSIONS_GPUS];
        struct limits_page *limits;
        int slots;                                      /* a descriptor */
        const uint32_t *bell;                           /* mapped, to be waited for; never read */
        struct seat_head head;                          /* as seat_take() took it */
        uint64_t head_ns;                               /* when that was */
        struct seat *next_leaving;                      /* for its user */
        uint64_t counted[SESSIONS_GPUS][SEAT_COUNTERS]; /* likewise */
};

/* Opens the pages of an existing session, with its terms; `store` and `session` are borrowed for
 * the call. Freed by seat_close(). -ESTALE: `slots` is another file; -ENOSPC: too many seats are
 * open; also the errors of store_join_owned(). */
int seat_open(const struct store *store, const struct sessions_one *session, struct seat **ret,
              struct error *err);
void seat_close(struct seat *seat);

/* The terms of a session on each of its GPUs, without its gang (members.h). */
void seat_terms(const struct sessions_one *session, struct seat_share ret[SESSIONS_GPUS]);

/* The claims of a session's processes about a GPU. */
struct seat_claim {
        uint64_t busy_ns; /* billed since the beginning */
        /* When a process last waited at the gate, and when work was last in flight; never in the
         * future. */
        uint64_t wanted_ns, active_ns;
        uint64_t began_ns; /* when it last began after others had the device; never in the future */
        bool is_in_flight; /* it has not reported that nothing is in flight */
        /* GPU time left in its own bucket when it was last filled; below 0: debt. */
        int64_t bucket_ns;
};

/* Reads the part of `slots` for the session's GPUs, zeros beyond the file's end. May wait, see
 * above. The result includes everything that was written before the bell had the value
 * `ret->bell`. */
void seat_look(const struct seat *seat, struct seat_head *ret);
void seat_take(struct seat *seat, const struct seat_head *head, uint64_t now_ns);

/* Whether a system call wrote, truncated or punched the file at `since` (CLOCK_REALTIME_COARSE) or
 * later; writes to mapped memory do not count. */
bool seat_has_changed(const struct seat *seat, struct timespec since);

/* The claim from the last reading. False: the page is gone or damaged. */
bool seat_read(const struct seat *seat, unsigned share, uint64_t now_ns, struct seat_claim *ret);

/* The counters from the last reading. Honest programs only increase them; others can write
 * anything. */
void seat_count(const struct seat *seat, unsigned share, uint64_t ret[SEAT_COUNTERS]);

/* The word that is raised when a process wants something: wait for it, do not read it. */
const uint32_t *seat_bell(const struct seat *seat);

/* Writes the lease of a GPU and wakes the processes that wait for it, unless the gate stays closed.
 * `target_ns` of work may be in flight; 0: no bound. */
void seat_tell(struct seat *seat, unsigned share, enum page_mode mode, uint64_t end_ns,
               uint64_t target_ns);

/* Writes the same lease again, so that a process that runs without looking at it looks. */
void seat_nudge(struct seat *seat, unsigned share);

/* Writes into the page that there is a scheduler now; 0: there is none. */
void seat_beat(struct seat *seat, uint64_t now_ns);

#endif
