/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/pace.h"

#define SPAN_NS UINT64_C(1000000000)
/* Snapshots that are a second apart are so only approximately, by the clock that wakes this
 * program. */
#define SPAN_SLACK_NS UINT64_C(50000000)
#define WORTH_TELLING 10 /* thousandths below which a wait is not shown */

/* Returns the length of a span; 0: it is not complete yet. Without a time for its beginning or its
 * end, it is complete and its figures are unknown. */
static uint64_t span_of(uint64_t began_ns, uint64_t at_ns)
{
        uint64_t span_ns = at_ns > began_ns ? at_ns - began_ns : 0;

        if (!began_ns || !at_ns)
                return UINT64_MAX;
        return span_ns + SPAN_SLACK_NS < SPAN_NS ? 0 : span_ns;
}

static int rate(uint64_t before_ns, uint64_t after_ns, uint64_t span_ns)
{
        if (span_ns == UINT64_MAX || after_ns < before_ns)
                return PACE_UNKNOWN;
        return (int)snapshot_permille(after_ns - before_ns, span_ns);
}

void pace_take(struct pace *pace, const struct snapshot_time *time)
{
        uint64_t ran_ns = span_of(pace->ran.at_ns, time->ran.at_ns);
        uint64_t told_ns = span_of(pace->told.at_ns, time->told.at_ns);
        struct pace_figures *figures = &pace->figures;

        if (ran_ns) {
                figures->had = rate(pace->ran.busy_ns, time->ran.busy_ns, ran_ns);
                figures->waited = rate(pace->ran.waited_ns, time->ran.waited_ns, ran_ns);
                pace->ran = time->ran;
        }
        if (told_ns) {
                figures->throttled =
                        rate(pace->told.throttled_ns, time->told.throttled_ns, told_ns);
                figures->queued = rate(pace->told.queued_ns, time->told.queued_ns, told_ns);
                pace->told = time->told;
        }
}

const char *pace_reason(const struct pace *pace, const struct snapshot_time *time)
{
        const struct pace_figures *figures = &pace->figures;

        if (time->debt_ns)
                return "throttled";
        if (figures->throttled >= WORTH_TELLING && figures->throttled >= figures->queued)
                return "throttled";
        if (figures->queued >= WORTH_TELLING)
                return "queued";
        /* A session that is alone on the GPU keeps its cap by itself, and no daemon counts that
         * wait. Without a cap, it only waits until less of its own work is in flight, which is not
         * shown. */
        return figures->waited >= WORTH_TELLING && snapshot_has_cap(time) ? "throttled" : "";
}
