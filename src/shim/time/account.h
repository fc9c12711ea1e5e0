/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU time account of a session on a device: bills what its processes use, and says whether the
 * session may submit work now.
 *
 * A session has used the union of its processes' flights (flight.h). Each process writes into its
 * row of the page since when it has work in flight. The session has one settled-until time. A
 * process that looks bills the time from there to now, and moves the settled-until time in one
 * atomic exchange. So no moment is billed twice, whatever the number of processes, and a process
 * that is killed loses at most the time since its last look. A process that is silent for
 * PAGE_FLIGHT_SILENT_NS counts as in flight only up to the last time that it wrote. When it goes
 * on, it is billed for the time that the other processes were not billed meanwhile.
 *
 * Any thread of any process may call. No lock; but one process begins, settles and ends its flights
 * one after the other. Every function is pure except for the pages and `now_ns` (CLOCK_MONOTONIC).
 * The page is hostile input: every value is bounded, and every loop ends.
 */
#ifndef ALIQUOT_SHIM_TIME_ACCOUNT_H
#define ALIQUOT_SHIM_TIME_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/page.h"

/* A device of the session, as one process sees it. Borrowed for the life of the process. */
struct account {
        const struct limits_page *limits;
        const struct limits_device *device;
        struct slots_page *slots;
        struct page_meter *meter;
        struct page_row *row;  /* this process's row; NULL: it has no slot, but is billed too */
        unsigned at;           /* the device's index in the page */
        uint64_t seen_ns;      /* the last look at this process's flight; 0: no flight */
        uint64_t seen_busy_ns; /* what the session had been billed by then */
};

/* The limits that hold for the session on the device now. */
struct terms {
        uint32_t cap_ppm; /* PAGE_WHOLE_PPM: no cap */
        uint32_t mode;    /* enum page_mode; FREE if there is no scheduler */
        bool is_watched;  /* a scheduler writes the lease */
        bool is_daemons;  /* the session is a daemon's: a scheduler may start to write the lease */
        uint32_t turn;    /* number of the lease's turn; even */
        uint64_t end_ns;
        uint64_t target_ns; /* maximum work in flight; 0: no bound */
};

struct terms account_terms(const struct account *account, uint64_t now_ns);

/* Whether submissions are metered: there is a cap, a scheduler, or a daemon that may start one. */
static inline bool terms_are_metered(const struct terms *terms)
{
        return terms->is_watched || terms->is_daemons || terms->cap_ppm != PAGE_WHOLE_PPM;
}

/* Whether the session has neither a cap nor a neighbour now: then no limit depends on its bill. */
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

/* -- Flights ---------------------------------------------------------------------------------- */

/* Begins a flight: this process has work in flight from `now_ns` on. Notifies the scheduler if the
 * session had none for some time. */
void account_begin(struct account *account, uint64_t now_ns);

/* Bills the session for this process's flight, which began at `begin_ns` and goes on at
 * `now_ns`. */
void account_settle(struct account *account, uint64_t begin_ns, uint64_t now_ns);

/* Ends the flight, which was billed up to its end. Also bills `rest_ns` (may be negative), unless
 * another process of the session has work in flight. The last process to end tells the scheduler,
 * for the lease of `turn`. */
void account_end(struct account *account, int64_t rest_ns, uint32_t turn, uint64_t now_ns);

/* Writes into the page that this process waits at the gate with nothing in flight. */
void account_stand(const struct account *account, uint64_t now_ns);

/* What all processes of the session do on the device. */
struct account_use {
        uint64_t flying_ns; /* when work was last seen in flight, if it still is; 0: none is */
        /* when work was last in flight, or a process waited at the gate; 0: not recently */
        uint64_t seen_ns;
};

struct account_use account_use(const struct account *account, uint64_t now_ns);

/* -- The cap ---------------------------------------------------------------------------------- */

/* GPU time left in the bucket; negative: debt. Only where the session keeps its cap itself. */
int64_t account_level_ns(const struct account *account, const struct terms *terms, uint64_t now_ns);

/* When an empty bucket will hold `opening_ns`. A change of the cap keeps what the bucket holds. */
uint64_t account_due_ns(const struct account *account, const struct terms *terms,
                        int64_t opening_ns, uint64_t now_ns);

/* When the bucket runs dry, if work that is in flight since `begin_ns` stays in flight. */
uint64_t account_dry_ns(const struct account *account, const struct terms *terms, uint64_t begin_ns,
                        uint64_t now_ns);

/* How much the bucket holds when the gate opens. */
int64_t account_opening_ns(const struct terms *terms);

/* Whether the session keeps its cap by itself: no scheduler keeps it by giving turns. */
static inline bool terms_keep_cap(const struct terms *terms)
{
        return terms->cap_ppm != PAGE_WHOLE_PPM && terms->mode != PAGE_MODE_OPEN;
}

/* -- The scheduler ---------------------------------------------------------------------------- */

/* Writes into the page that this process waits at a closed gate. */
void account_want(const struct account *account, const struct terms *terms, uint64_t now_ns);

/* Counts submissions that passed the gate; a negative number takes back those that were not
 * made. */
void account_count(const struct account *account, int64_t submissions);

/* Adds a finished wait at the gate to the session's waiting time. */
void account_note_wait(const struct account *account, uint64_t waited_ns);

#endif
