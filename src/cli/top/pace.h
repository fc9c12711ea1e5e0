/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session had lately of a GPU's time, from counters that only rise.
 *
 * Figures are of a span of a second or more, and stay until the next one is over: work is counted
 * when it is measured, a few times in the milliseconds that may be in flight, so shorter spans tell
 * of that and not of the session. A counter that sank (another page, another daemon) or that nobody
 * keeps is not known in that span.
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

/* From zeroed. What is not known at first is so until a span is over. */
struct pace {
        struct snapshot_ran ran; /* as the span began */
        struct snapshot_told told;
        struct pace_figures figures;
};

void pace_take(struct pace *pace, const struct snapshot_time *time);

/* What it waits for, in a word; "" where it does not. */
const char *pace_reason(const struct pace *pace, const struct snapshot_time *time);

#endif
