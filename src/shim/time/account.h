/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU time of a session on a device: what its processes have used, and whether it may submit now.
 *
 * Used is the union of the flights of its processes (flight.h). Each process says in its row of
 * the page since when work of it is in flight; whoever looks bills what lies between the moment up
 * to which the session is settled and now, and moves that moment by one exchange. So no moment is
 * billed twice, whatever the number of processes, and a process that is killed takes at most one
 * look's length with it. Who was not heard of for PAGE_FLIGHT_SILENT_NS counts up to the last
 * moment that it told, until it goes on: then it is billed what the others were not meanwhile.
 *
 * Any thread of any process; no lock, but flights of a process are begun, settled and ended one
 * after the other. Every function is pure but for the pages and `now_ns` (CLOCK_MONOTONIC). The
 * page is hostile input: every value is bounded, every loop ends.
 */
#ifndef ALIQUOT_SHIM_TIME_ACCOUNT_H
#define ALIQUOT_SHIM_TIME_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/page.h"

/* A device of the session, for one process. Borrowed for the life of the process. */
struct account {
        const struct limits_page *limits;
        const struct limits_device *device;
        struct slots_page *slots;
        struct page_meter *meter;
        struct page_row *row; /* this process's; NULL: it has no slot, and is billed all the same */
        unsigned at;          /* the device's number in the page */
        uint64_t seen_ns;     /* of this process's flight, the last look; 0: there is none */
        uint64_t seen_busy_ns; /* and what the session was billed by then */
};

/* The limits that hold for the session on the device now. */
struct terms {
        uint32_t cap_ppm; /* PAGE_WHOLE_PPM: none */
        uint32_t mode;    /* enum page_mode; FREE unless a scheduler speaks */
        bool is_watched;  /* a scheduler speaks */
        bool is_daemons;  /* or may at any time: the session is a daemon's */
        uint32_t turn;    /* of the lease; even */
        uint64_t end_ns;
        uint64_t target_ns; /* what may be in flight; 0: no bound */
};

struct terms account_terms(const struct account *account, uint64_t now_ns);

/* Submissions are to be accounted for: there is a cap, or a scheduler that speaks or may come. */
static inline bool terms_are_metered(const struct terms *terms)
{
        return terms->is_watched || terms->is_daemons || terms->cap_ppm != PAGE_WHOLE_PPM;
}

/* Who is metered has neither a cap nor a neighbour: what it is billed decides nothing now. */
static inline bool terms_are_coarse(const struct terms *terms)
{
        return terms->mode == PAGE_MODE_FREE && terms->cap_ppm == PAGE_WHOLE_PPM;
}

/* The lease lets the session submit at `now_ns`. */
static inline bool terms_are_open(const struct terms *terms, uint64_t now_ns)
{
        return terms->mode == PAGE_MODE_FREE ||
               (terms->mode == PAGE_MODE_OPEN && now_ns < terms->end_ns);
}

/* -- Flights ---------------------------------------------------------------------------------- */

/* Work of this process is in flight since then. Rings for the scheduler when the session had none
 * for some time. */
void account_begin(struct account *account, uint64_t now_ns);

/* It has been in flight since `begin_ns` until `now_ns`: bills the session up to then. */
void account_settle(struct account *account, uint64_t begin_ns, uint64_t now_ns);

/* It is over, and billed up to when it was; `rest_ns` (may be less than nothing) beyond that is
 * billed unless another process of the session has work in flight. The last one says so to the
 * scheduler, for the lease of `turn`. */
void account_end(struct account *account, int64_t rest_ns, uint32_t turn, uint64_t now_ns);

/* Says in the page that this process has nothing in flight, and stands before the gate. */
void account_stand(const struct account *account, uint64_t now_ns);

/* Of all processes of the session. */
struct account_use {
        uint64_t flying_ns; /* when work was last seen in flight, if it still is; 0: none is */
        uint64_t seen_ns;   /* when some was, or somebody stood before the gate; 0: not of late */
};

struct account_use account_use(const struct account *account, uint64_t now_ns);

/* -- The cap ---------------------------------------------------------------------------------- */

/* What may still be used; less than nothing is debt. Only where the session keeps its cap itself.
 */
int64_t account_level_ns(const struct account *account, const struct terms *terms, uint64_t now_ns);

/* When an empty bucket will hold `opening_ns`. What it was filled with until now stays, whatever
 * becomes of the cap. */
uint64_t account_due_ns(const struct account *account, const struct terms *terms,
                        int64_t opening_ns, uint64_t now_ns);

/* When it runs dry, if work is in flight until then as it has been since `begin_ns`. */
uint64_t account_dry_ns(const struct account *account, const struct terms *terms, uint64_t begin_ns,
                        uint64_t now_ns);

/* How much the bucket holds when the gate opens. */
int64_t account_opening_ns(const struct terms *terms);

/* The session keeps its cap by itself: no scheduler does it by the session's turns. */
static inline bool terms_keep_cap(const struct terms *terms)
{
        return terms->cap_ppm != PAGE_WHOLE_PPM && terms->mode != PAGE_MODE_OPEN;
}

/* -- The scheduler ---------------------------------------------------------------------------- */

/* Says in the page that this process stands before a closed gate. */
void account_want(const struct account *account, const struct terms *terms, uint64_t now_ns);

/* Submissions that were let through; those that were not made (less than nothing). */
void account_count(const struct account *account, int64_t submissions);

/* Counts a wait at the gate that is over. */
void account_note_wait(const struct account *account, uint64_t waited_ns);

#endif
