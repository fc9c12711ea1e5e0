/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds sessions that use more GPU time than they report, by comparing each session's own meter
 * with the usage that the driver shows. It only decides: a finding is reported and has no other
 * effect.
 *
 *      struct claim claim = { 0 };                     // for each session and GPU
 *      if (claims_see(&claim, &policy, &sight))        // once a second
 *              ...                                     // the session is reported from now on
 *
 * There are two findings. *Understated*: the driver shows more usage than the session's meter plus
 * the tolerance. *Above its cap*: the session enforces its cap by itself (the scheduler gives it no
 * lease), and the driver shows more usage than the cap plus the tolerance plus the session's debt.
 * The session itself reports its debt, so the debt explains at most one minute of usage.
 *
 * The meter and the driver cannot be read at the same instant, and the driver reports whole
 * percents of sampling periods of its own. So the usage by the meter and the usage by the driver
 * are both summed up in windows of a second. Usage that was metered in one window may be shown by
 * the driver in the next. Unexplained usage counts only above half a second. A window that exceeds
 * that, and in which the unexplained usage grew, adds 2 to the session's score; any other window
 * subtracts 1. A session is reported from when its score reaches CLAIMS_SCORE_MAX (after eight such
 * windows in a row, or after more than every third window for a long time) until its score is 0
 * again.
 *
 * The functions do no I/O and are called by one thread. Times are in nanoseconds.
 */
#ifndef ALIQUOT_CORE_CLAIMS_H
#define ALIQUOT_CORE_CLAIMS_H

#include <stdbool.h>
#include <stdint.h>

#define CLAIMS_WHOLE_PPM 1000000u
#define CLAIMS_SCORE_MAX 16u

struct claims_policy {
        bool is_off;                /* do not check sessions at all */
        uint32_t tolerance_percent; /* tolerated excess, in percent of the GPU's time */
};

/* What one poll found about a session on a GPU. */
struct claims_sight {
        /* the session has a cap or a scheduler, and the driver reports its usage */
        bool is_measured;
        bool is_free; /* the session enforces its cap by itself, without leases of the scheduler */
        /* the session's cap, as a part of the GPU's time; CLAIMS_WHOLE_PPM: no cap */
        uint32_t cap_ppm;
        uint64_t elapsed_ns; /* time since the last poll */
        /* minimum GPU time that the session used since the last poll, by the driver */
        uint64_t shown_ns;
        uint64_t busy_ns; /* GPU time that the session's meter counted since its beginning */
        uint64_t owed_ns; /* the session's present debt, if it enforces its cap by itself */
        uint64_t leases;  /* number of leases that the session got since its beginning */
};

enum claims_why { CLAIMS_UNDERSTATED, CLAIMS_ABOVE_CAP };

/* The state of one session on one GPU; a new one is all zeroes. Any code may read it. */
struct claim {
        bool is_known; /* busy_ns and leases hold the values of an earlier poll */
        bool is_free;  /* the session enforced its cap by itself during the whole window */
        uint32_t cap_ppm;
        uint64_t busy_ns, leases;
        uint64_t window_ns, shown_ns, claimed_ns;
        int64_t understated_ns, above_ns; /* unexplained usage, carried on from the past windows */
        unsigned score;
        bool is_reported;
        /* The reason for the report, and the figures of the window that led to it. */
        enum claims_why why;
        uint64_t told_window_ns, told_shown_ns, told_claimed_ns;
};

/* Records one poll. Returns true if the session is reported from now on and was not before. For a
 * session that is not on the GPU, give a `sight` in which the driver shows nothing and the meter
 * has not moved. */
bool claims_see(struct claim *claim, const struct claims_policy *policy,
                const struct claims_sight *sight);

/*
 * Returns the minimum GPU time that a session used in `elapsed_ns`, if the driver shows `shown_ns`
 * for its processes and `all_ns` for all processes. The driver counts a program as busy even while
 * another program has its time slice, so the sum over all programs can exceed the elapsed time. Any
 * of the excess may belong to this session, so all of it is subtracted.
 */
uint64_t claims_min(uint64_t shown_ns, uint64_t all_ns, uint64_t elapsed_ns);

#endif
