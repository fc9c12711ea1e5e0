/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recent GPU time of a session, from counters that only rise.
 *
 * Figures are for a span of a second or more, and stay until the next span is complete. Work is
 * counted when it is measured, a few times during the milliseconds of work that may be in flight.
 * In shorter spans, the figures would show the rhythm of the measurements, and not the session. The
 * figure of a span is unknown if its counter fell (another page, another daemon) or does not exist.
 */
#ifndef ALIQUOT_CLI_TOP_PACE_H
#define ALIQUOT_CLI_TOP_PACE_H

#include "cli/top/snapshot.h"

#define PACE_UNKNOWN (-1)

/* Thousandths of the span, at most 1000; or PACE_UNKNOWN. */
struct pace_figures {
        int had;    /* time for which the GPU worked for the session */
        int waited; /* time that launches waited; the waits of several launches at once are added */
        int throttled; /* time that they waited because of the session's own cap */
        int queued;    /* time that they waited for other sessions */
};

/* All zeroes at first. A figure that is unknown at first stays unknown until a span is complete. */
struct pace {
        struct snapshot_ran ran; /* the counters at the beginning of the span */
        struct snapshot_told told;
        struct pace_figures figures;
};

void pace_take(struct pace *pace, const struct snapshot_time *time);

/* Returns in one word what the session waits for; "" if it does not wait. */
const char *pace_reason(const struct pace *pace, const struct snapshot_time *time);

#endif
