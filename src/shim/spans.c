/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/spans.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST_ROOM 256u

static bool grow_spans(struct spans *spans)
{
        uint64_t room = spans->room ? spans->room * 2 : FIRST_ROOM;
        struct address_span *made = mmap(NULL, room * sizeof(*made), PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (made == MAP_FAILED)
                return false;
        if (spans->span) {
                memcpy(made, spans->span, spans->count * sizeof(*made));
                munmap(spans->span, spans->room * sizeof(*made));
        }
        spans->span = made;
        spans->room = room;
        return true;
}

bool spans_reserve(struct spans *spans)
{
        if (spans->count + spans->reserved == spans->room && !grow_spans(spans))
                return false;
        spans->reserved++;
        return true;
}

void spans_unreserve(struct spans *spans)
{
        spans->reserved--;
}

/* Returns the number of ranges that end at the address or below it. */
static uint64_t below(const struct spans *spans, uint64_t address)
{
        uint64_t low = 0, high = spans->count;

        while (low < high) {
                uint64_t middle = low + (high - low) / 2;

                if (spans->span[middle].end <= address)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

void spans_put(struct spans *spans, struct address_span span)
{
        uint64_t at = below(spans, span.start);

        memmove(&spans->span[at + 1], &spans->span[at], (spans->count - at) * sizeof(*spans->span));
        spans->span[at] = span;
        spans->count++;
        spans->reserved--;
}

const struct address_span *spans_above(const struct spans *spans, uint64_t address)
{
        uint64_t at = below(spans, address);

        return at < spans->count ? &spans->span[at] : NULL;
}

void *spans_find(const struct spans *spans, uint64_t address)
{
        const struct address_span *span = spans_above(spans, address);

        return span && span->start <= address ? span->of : NULL;
}

void spans_take(struct spans *spans, uint64_t start)
{
        uint64_t at = below(spans, start);

        if (at == spans->count || spans->span[at].start != start)
                return;
        spans->count--;
        memmove(&spans->span[at], &spans->span[at + 1], (spans->count - at) * sizeof(*spans->span));
}
