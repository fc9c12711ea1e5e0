/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds sessions that use more GPU time than they report, as far as the driver shows. It only
 * decides; a finding is reported and changes nothing else.
 *
 *      struct claim claim = { 0 };                     // for each session and GPU
 *      if (claims_see(&claim, &policy, &sight))        // once a second
 *              ...                                     // reported from now on: tell it
 *
 * There are two findings. *Understated*: the driver shows more than the session's meter and the
 * tolerance. *Above its cap*: the session keeps its cap by itself, and the driver shows more than
 * the cap, the tolerance and the session's debt. The session itself reports the debt, so the debt
 * explains at most its own amount, and at most a minute.
 *
 * Meter and driver cannot be read at one instant, and the driver reports whole percents of its own
 * periods. So both are summed up in windows of a second; usage metered in one window may be shown
 * in the next; and only half a second of unexplained usage counts. A window that reaches that, with
 * growing usage, adds 2 to the score; any other window subtracts 1. A session is reported from a
 * score of CLAIMS_SCORE_MAX (eight such windows in a row, or more than every third for long) until
 * the score is 0.
 *
 * Pure; one thread. Units: nanoseconds.
 */
#ifndef ALIQUOT_CORE_CLAIMS_H
#define ALIQUOT_CORE_CLAIMS_H

#include <stdbool.h>
#include <stdint.h>

#define CLAIMS_WHOLE_PPM 1000000u
#define CLAIMS_SCORE_MAX 16u

struct claims_policy {
        bool is_off;                /* report nothing */
        uint32_t tolerance_percent; /* of the GPU's time */
};

/* What one poll found about a session on a GPU. */
struct claims_sight {
        bool is_measured; /* the session has a cap or a scheduler, and the driver reports usage */
        bool is_free;     /* it keeps its cap by itself: no lease holds */
        uint32_t cap_ppm; /* of the GPU's time; CLAIMS_WHOLE_PPM: no cap */
        uint64_t elapsed_ns; /* since the last poll */
        uint64_t shown_ns;   /* minimum that it used meanwhile, by the driver */
        uint64_t busy_ns;    /* its meter, since the beginning */
        uint64_t owed_ns;    /* its present debt, while it keeps its cap by itself */
        uint64_t leases;     /* number of its leases since the beginning */
};

enum claims_why { CLAIMS_UNDERSTATED, CLAIMS_ABOVE_CAP };

/* The state of one session on one GPU; a new one is all zeroes. Any code may read it. */
struct claim {
        bool is_known; /* busy_ns and leases were read before */
        bool is_free;  /* during the whole window */
        uint32_t cap_ppm;
        uint64_t busy_ns, leases;
        uint64_t window_ns, shown_ns, claimed_ns;
        int64_t understated_ns, above_ns; /* unexplained usage of the past windows */
        unsigned score;
        bool is_reported;
        /* Why it is reported, and the figures of the window that led to the report. */
        enum claims_why why;
        uint64_t told_window_ns, told_shown_ns, told_claimed_ns;
};

/* True: the session is reported from now on, and was not before. For a session that is not on the
 * GPU, the driver shows nothing and the meter stands still. */
bool claims_see(struct claim *claim, const struct claims_policy *policy,
                const struct claims_sight *sight);

/*
 * The minimum that a session used, if the driver shows `shown_ns` for its processes and `all_ns`
 * for all processes in `elapsed_ns`. The driver counts a program as busy while another one has its
 * time slice, so it shows more than there is; the others may have used all that is shown for them.
 */
uint64_t claims_least(uint64_t shown_ns, uint64_t all_ns, uint64_t elapsed_ns);

#endif
