/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a session uses more of a GPU's time than it says, as far as the driver shows. Decisions
 * only; what is decided is reported and changes nothing else.
 *
 *      struct claim claim = { 0 };                     // of each session and GPU
 *      if (claims_see(&claim, &policy, &sight))        // once a second
 *              ...                                     // it is reported from now on: say so
 *
 * Two findings. *Understated*: the driver shows more than the session's meter and the tolerance.
 * *Above its cap*: where the session keeps its cap by itself, the driver shows more than the cap
 * and the tolerance, and the session does not owe that. The debt is the session's own word: it
 * covers what is above the cap by no more than itself, and than a minute.
 *
 * Meter and driver cannot be read at one instant, and the driver tells whole percents of periods of
 * its own. So both are summed up in windows of a second, what a window claims may be shown in the
 * next one, and what is unexplained has to come to half a second. A window in which it does and has
 * grown raises the score by 2; any other lowers it by 1. A session is reported from a score of
 * CLAIMS_SCORE_MOST (eight such windows in a row, or more than every third for long) until it is 0.
 *
 * Pure; one thread. Units: nanoseconds.
 */
#ifndef ALIQUOT_CORE_CLAIMS_H
#define ALIQUOT_CORE_CLAIMS_H

#include <stdbool.h>
#include <stdint.h>

#define CLAIMS_WHOLE_PPM 1000000u
#define CLAIMS_SCORE_MOST 16u

struct claims_policy {
        bool is_off;                /* nobody is to be seen */
        uint32_t tolerance_percent; /* of the GPU's time */
};

/* What one look found about a session on a GPU. */
struct claims_sight {
        bool is_measured;    /* it has a cap or a scheduler watches it, and the driver tells */
        bool is_free;        /* it keeps its cap by itself: no lease holds */
        uint32_t cap_ppm;    /* of the GPU's time; CLAIMS_WHOLE_PPM: none */
        uint64_t elapsed_ns; /* since the look before */
        uint64_t shown_ns;   /* by the driver, it used at least so much meanwhile */
        uint64_t busy_ns;    /* its meter; ever since */
        uint64_t owed_ns;    /* of its cap, now; while it keeps that by itself */
        uint64_t leases;     /* that it had; ever since */
};

enum claims_why { CLAIMS_UNDERSTATED, CLAIMS_ABOVE_CAP };

/* The state kept about one share; a new one is all zeroes. Anybody may read it. */
struct claim {
        bool is_known; /* busy_ns and leases were read before */
        bool is_free;  /* in the whole window */
        uint32_t cap_ppm;
        uint64_t busy_ns, leases;
        uint64_t window_ns, shown_ns, claimed_ns;
        int64_t understated_ns, above_ns; /* what windows left unexplained */
        unsigned score;
        bool is_reported;
        /* Why it is reported, and the figures of the window that led to the report. */
        enum claims_why why;
        uint64_t told_window_ns, told_shown_ns, told_claimed_ns;
};

/* True: it is reported, and was not. Of a session that is not on the GPU nothing is shown, and the
 * meter stands still. */
bool claims_see(struct claim *claim, const struct claims_policy *policy,
                const struct claims_sight *sight);

/*
 * What a session used at least where the driver shows `shown_ns` for its processes and `all_ns` for
 * everybody's, in `elapsed_ns`. A driver that counts a program as busy while another one has its
 * slice shows more than there is; the others may have used all that is shown of them.
 */
uint64_t claims_least(uint64_t shown_ns, uint64_t all_ns, uint64_t elapsed_ns);

#endif
