/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU time account of a session on a device: bills what the session's processes use, and says
 * whether the session may submit work now.
 *
 * A process is in flight while it has work in flight on the device (flight.h). The session is
 * billed for the time in which at least one of its processes is in flight. Each process writes into
 * its row of the page since when it is in flight. The page also has one settled-until time per
 * session. A process that bills takes the time from settled-until to now, and moves settled-until
 * in one atomic exchange. So no moment is billed twice, whatever the number of processes, and a
 * process that is killed loses at most the time since it last billed. A process that is silent for
 * PAGE_FLIGHT_SILENT_NS counts as in flight only up to the last time that it wrote. When it goes
 * on, it is billed for the time for which the other processes were not billed meanwhile.
 *
 * Any thread of any process may call. There is no lock; but one process must begin, settle and end
 * its flights one after the other. Every function depends only on the pages and `now_ns`
 * (CLOCK_MONOTONIC). The page is hostile input: every value is bounded, and every loop ends.
 */
#ifndef ALIQUOT_SHIM_TIME_ACCOUNT_H
#define ALIQUOT_SHIM_TIME_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/page.h"

/* The account of the session on one device, as one process sees it. Borrowed for the life of the
 * process. */
struct account {
        const struct limits_page *limits;
        const struct limits_device *device;
        struct slots_page *slots;
        struct page_meter *meter;
        /* this process's row; NULL: the process has no slot, but is billed too */
        struct page_row *row;
        unsigned at;      /* the device's index in the page */
        uint64_t seen_ns; /* when this process's flight was last billed; 0: it is not in flight */
        uint64_t seen_busy_ns; /* how much the session had been billed at seen_ns */
};

/* The limits that now hold for the session on the device. */
struct terms {
        uint32_t cap_ppm; /* PAGE_WHOLE_PPM: no cap */
        uint32_t mode;    /* enum page_mode; PAGE_MODE_FREE if there is no scheduler */
        bool is_watched;  /* a scheduler is alive and writes the lease */
        /* the session belongs to a daemon, so a scheduler may start to write the lease */
        bool is_daemons;
        uint32_t turn; /* number of the lease's present turn; even */
        /* end of the lease */
        uint64_t end_ns;
        uint64_t target_ns; /* maximum GPU time of the work in flight; 0: no bound */
};

/* Returns the limits that hold at `now_ns`. */
struct terms account_terms(const struct account *account, uint64_t now_ns);

/* Whether submissions are metered: there is a cap, a scheduler, or a daemon that may start one. */
static inline bool terms_are_metered(const struct terms *terms)
{
        return terms->is_watched || terms->is_daemons || terms->cap_ppm != PAGE_WHOLE_PPM;
}

/* Whether the session has neither a cap nor a neighbour now, so that no limit depends on its
 * bill. */
static inline bool terms_are_coarse(const struct terms *terms)
{
        return terms->mode == PAGE_MODE_FREE && terms->cap_ppm == PAGE_WHOLE_PPM;
}

/* Whether the lease lets the session submit at `now_ns`. */
static inline bool terms_are_open(const struct terms *terms, uint64_t now_ns)
{
        return terms->mode == PAGE_MODE_FREE ||
               (terms->mode == PAGE_MODE_OPEN && now_ns < terms->end_ns);
}

/* -- Flights: a flight is the time in which this process has work in flight ------------------ */

/* Begins a flight at `now_ns`. Notifies the scheduler if the session had no flight for some
 * time. */
void account_begin(struct account *account, uint64_t now_ns);

/* Bills the session for this process's flight up to `now_ns`. The flight began at `begin_ns` and
 * goes on. */
void account_settle(struct account *account, uint64_t begin_ns, uint64_t now_ns);

/* Ends the flight, which was billed up to its end. Also bills `rest_ns`, which may be negative,
 * unless another process of the session is in flight. The last process that ends its flight
 * notifies the scheduler, with the number `turn` of the lease. */
void account_end(struct account *account, int64_t rest_ns, uint32_t turn, uint64_t now_ns);

/* Writes into the page that this process waits at the gate and has nothing in flight. */
void account_stand(const struct account *account, uint64_t now_ns);

/* What the processes of the session do on the device. */
struct account_use {
        /* when a process was last seen in flight, if one still is; 0: none is */
        uint64_t flying_ns;
        /* When a process was last in flight or waited at the gate; 0: not recently. */
        uint64_t seen_ns;
};

/* Returns what the processes of the session do on the device at `now_ns`. */
struct account_use account_use(const struct account *account, uint64_t now_ns);

/* -- The cap ---------------------------------------------------------------------------------- */

/* Returns the GPU time left in the bucket; negative: debt. Only for a session that enforces its
 * cap itself. */
int64_t account_level_ns(const struct account *account, const struct terms *terms, uint64_t now_ns);

/* Returns when a bucket that is too empty will hold `opening_ns`. If the cap changes, the bucket
 * keeps what it holds. */
uint64_t account_due_ns(const struct account *account, const struct terms *terms,
                        int64_t opening_ns, uint64_t now_ns);

/* Returns when the bucket becomes empty if work that is in flight since `begin_ns` stays in
 * flight. */
uint64_t account_dry_ns(const struct account *account, const struct terms *terms, uint64_t begin_ns,
                        uint64_t now_ns);

/* Returns how much the bucket must hold for the gate to open, if the device is used alone. */
int64_t account_opening_ns(const struct terms *terms);

/* Whether the session enforces its cap by itself. With turns the scheduler enforces it. */
static inline bool terms_keep_cap(const struct terms *terms)
{
        return terms->cap_ppm != PAGE_WHOLE_PPM && terms->mode != PAGE_MODE_OPEN;
}

/* -- The scheduler ---------------------------------------------------------------------------- */

/* Writes into the page that this process waits at a closed gate, and notifies the scheduler if
 * needed. */
void account_want(const struct account *account, const struct terms *terms, uint64_t now_ns);

/* Adds to the number of submissions that passed the gate. A negative number takes back
 * submissions that were not made. */
void account_count(const struct account *account, int64_t submissions);

/* Adds a finished wait at the gate to the session's waiting time. */
void account_note_wait(const struct account *account, uint64_t waited_ns);

#endif
