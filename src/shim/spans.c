/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/spans.h"

#include <string.h>

static void take_out(struct spans *spans, uint32_t at, uint32_t count)
{
        memmove(&spans->span[at], &spans->span[at + count],
                (spans->count - at - count) * sizeof(spans->span[0]));
        spans->count -= count;
}

static void put_in(struct spans *spans, uint32_t at, struct span span)
{
        memmove(&spans->span[at + 1], &spans->span[at],
                (spans->count - at) * sizeof(spans->span[0]));
        spans->span[at] = span;
        spans->count++;
}

/* Fills the smallest gap. */
static void close_ranks(struct spans *spans)
{
        uint32_t best = 1;

        for (uint32_t i = 2; i < spans->count; i++) {
                if (spans->span[i].from_ns - spans->span[i - 1].to_ns <
                    spans->span[best].from_ns - spans->span[best - 1].to_ns)
                        best = i;
        }
        spans->span[best - 1].to_ns = spans->span[best].to_ns;
        take_out(spans, best, 1);
}

uint64_t spans_add(struct spans *spans, int64_t from_ns, int64_t to_ns)
{
        struct span all = { from_ns, to_ns };
        int64_t covered_ns = 0;
        uint32_t first = 0, last;

        if (to_ns <= from_ns)
                return 0;
        while (first < spans->count && spans->span[first].to_ns < from_ns)
                first++;
        for (last = first; last < spans->count && spans->span[last].from_ns <= to_ns; last++) {
                const struct span *old = &spans->span[last];
                int64_t begin_ns = old->from_ns > from_ns ? old->from_ns : from_ns;
                int64_t end_ns = old->to_ns < to_ns ? old->to_ns : to_ns;

                covered_ns += end_ns - begin_ns;
                all.from_ns = old->from_ns < all.from_ns ? old->from_ns : all.from_ns;
                all.to_ns = old->to_ns > all.to_ns ? old->to_ns : all.to_ns;
        }
        take_out(spans, first, last - first);
        put_in(spans, first, all);
        if (spans->count > SPANS)
                close_ranks(spans);
        return (uint64_t)(to_ns - from_ns - covered_ns);
}

void spans_forget(struct spans *spans, int64_t before_ns)
{
        uint32_t gone = 0;

        while (gone < spans->count && spans->span[gone].to_ns < before_ns)
                gone++;
        take_out(spans, 0, gone);
}
