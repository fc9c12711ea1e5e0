/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The union of the intervals in which a device worked, told piece by piece and in any order.
 *
 * Two streams at once use the device once: an interval counts only as far as no earlier one covered
 * it. A few disjoint intervals are remembered, in order; when there are too many, the two with the
 * smallest gap between them become one, and that gap, if work in it is told later, is not counted.
 *
 * Pure, no locking: whoever has the device's lock.
 */
#ifndef ALIQUOT_SHIM_SPANS_H
#define ALIQUOT_SHIM_SPANS_H

#include <stdint.h>

#define SPANS 32u

struct span {
        int64_t from_ns, to_ns;
};

struct spans {
        uint32_t count;
        struct span span[SPANS + 1]; /* disjoint, in order; one more than are kept */
};

/* Adds an interval: how much of it was not covered before. Nothing when it ends before it begins.
 */
uint64_t spans_add(struct spans *spans, int64_t from_ns, int64_t to_ns);

/* No interval told from now on begins before this: what ends earlier is forgotten. */
void spans_forget(struct spans *spans, int64_t before_ns);

#endif
