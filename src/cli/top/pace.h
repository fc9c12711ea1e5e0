/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recent GPU time of a session, from counters that only rise.
 *
 * Figures are for a span of a second or more, and stay until the next span is complete. Work is
 * counted when it is measured, a few times during the milliseconds that may be in flight, so
 * shorter spans would show that rhythm and not the session. If a counter fell (another page,
 * another daemon) or is not kept, the figure of that span is unknown.
 */
#ifndef ALIQUOT_CLI_TOP_PACE_H
#define ALIQUOT_CLI_TOP_PACE_H

#include "cli/top/snapshot.h"

#define PACE_UNKNOWN (-1)

/* Thousandths of the span, at most 1000; or PACE_UNKNOWN. */
struct pace_figures {
        int had;       /* the GPU worked for it */
        int waited;    /* launches waited: several at once count once each */
        int throttled; /* for its own cap */
        int queued;    /* for others */
};

/* Begins as zeroes. A figure that is unknown at first stays unknown until a span is complete. */
struct pace {
        struct snapshot_ran ran; /* as the span began */
        struct snapshot_told told;
        struct pace_figures figures;
};

void pace_take(struct pace *pace, const struct snapshot_time *time);

/* What the session waits for, in a word; "" if it does not wait. */
const char *pace_reason(const struct pace *pace, const struct snapshot_time *time);

#endif
