/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session as the scheduler sees it: its two pages, and what was promised to it on each GPU.
 *
 * `limits` is the daemon's to write: the lease. `slots` is the tenant's, may be anything, and may
 * go. What it claims is bounded at each reading. A false one costs its own session turns; others it
 * can keep waiting for SCHED_DRAIN_MOST_NS at the end of a turn, and that is charged to its own
 * session.
 *
 * `slots` is read by pread(), into memory of ours (0.4 us). Its page is mapped too, since a futex
 * needs it, but touched by nobody: a page fault waits for as long as the tenant punches a hole into
 * the file (seconds, Linux 6.18), and beyond the file's end it is SIGBUS. A read does not wait for
 * that; but for a page that is being unmapped from every process, it does: 90 ms where the tenant
 * has it mapped 260,000 times and collapses huge pages (MADV_COLLAPSE, 2026-11). So seat_look() is
 * called without a lock.
 *
 * Times are nanoseconds of clock_now_ns(). A seat is one thread's at a time: the scheduler's lock
 * (scheduler.c) is held for all but seat_open(), seat_look(), seat_has_changed(), and seat_close()
 * of a seat nobody else has.
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

/* One GPU of a session. Row i of its pages is of its share i. */
struct seat_share {
        uint8_t uuid[16];
        struct sched_terms terms;
};

/* What a session's processes counted on a GPU. */
enum seat_counter {
        SEAT_BUSY_NS, /* GPU time, where it is measured */
        SEAT_WAITS,   /* launches that waited, and for how long */
        SEAT_WAITED_NS,
        SEAT_COUNTERS,
};

/* What `slots` said when it was last read. */
struct seat_head {
        uint64_t magic; /* any other than PAGE_SLOTS_MAGIC: it is no such page any more */
        uint32_t bell;
        struct page_meter meter[SESSIONS_GPUS];
};

struct seat {
        uint8_t id[16];
        uint32_t owner_uid;
        char gang[SESSIONS_NAME_BYTES]; /* as the session has it */
        unsigned share_count;
        struct seat_share share[SESSIONS_GPUS];
        struct limits_page *limits;
        int slots;                                      /* a descriptor */
        const uint32_t *bell;                           /* mapped: to be waited for, never read */
        struct seat_head head;                          /* as seat_take() took it */
        uint64_t head_ns;                               /* when that was */
        struct seat *next_leaving;                      /* for its user */
        uint64_t counted[SESSIONS_GPUS][SEAT_COUNTERS]; /* likewise */
};

/* The pages of a session that is there, with its terms; `store` and `session` are borrowed for the
 * call. Freed by seat_close(). -ESTALE: `slots` is another file; -ENOSPC: too many are open; those
 * of store_join_owned() besides. */
int seat_open(const struct store *store, const struct sessions_one *session, struct seat **ret,
              struct error *err);
void seat_close(struct seat *seat);

/* What was promised to a session on each of its GPUs; of its gang nothing is said (members.h). */
void seat_terms(const struct sessions_one *session, struct seat_share ret[SESSIONS_GPUS]);

/* What the session's processes say of a GPU. */
struct seat_claim {
        uint64_t busy_ns; /* billed, ever since */
        /* When somebody last stood before the gate, and when work was last in flight; never in the
           future. */
        uint64_t wanted_ns, active_ns;
        uint64_t began_ns; /* when it last began after others had the device; never in the future */
        bool is_in_flight; /* it has not said that nothing is */
        /* What its own bucket still allows, as of when it was last filled; below 0: debt. */
        int64_t bucket_ns;
};

/* Reads `slots`: of so many GPUs as the session has, zeros where the file ends. May wait, as above.
 * What was written before the bell was raised to `ret->bell` is in it. */
void seat_look(const struct seat *seat, struct seat_head *ret);
void seat_take(struct seat *seat, const struct seat_head *head, uint64_t now_ns);

/* The file was written by a system call, cut or punched at `since` of CLOCK_REALTIME_COARSE or
 * later; what is written in mapped memory does not count. */
bool seat_has_changed(const struct seat *seat, struct timespec since);

/* What was last taken. False: the page is gone, or is none any more. */
bool seat_read(const struct seat *seat, unsigned share, uint64_t now_ns, struct seat_claim *ret);

/* The same. Only ever raised by honest ones; a session that is not can say anything. */
void seat_count(const struct seat *seat, unsigned share, uint64_t ret[SEAT_COUNTERS]);

/* The word that is raised when something is wanted: to be waited for, not read. */
const uint32_t *seat_bell(const struct seat *seat);

/* Writes the lease of a GPU and wakes who waits for it: not for one that stays closed. `target_ns`
 * may be in flight; 0: no bound. */
void seat_tell(struct seat *seat, unsigned share, enum page_mode mode, uint64_t end_ns,
               uint64_t target_ns);

/* The same lease again, so that who runs without looking at it looks. */
void seat_nudge(struct seat *seat, unsigned share);

/* Writes into the page that a scheduler is there now; 0: there is none. */
void seat_beat(struct seat *seat, uint64_t now_ns);

#endif
