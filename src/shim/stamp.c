/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/stamp.h"

#define MS_NS 1000000.0F
/* Thirty years. */
#define MS_MOST 1e12F
/* What milliseconds are rounded by: no reason to move anything. */
#define NEAR_NS 1000
/* What clocks that drift and rounded milliseconds come to, and more. */
#define FAR_NS 20000
/* Of an interval, the host may be away for so many parts without a doubt. */
#define UNSEEN_PARTS 16

bool stamp_ns(float ms, int64_t *ret_ns)
{
        /* Not a number is not less either. */
        if (!(ms > -MS_MOST && ms < MS_MOST))
                return false;
        *ret_ns = (int64_t)((double)ms * (double)MS_NS);
        return true;
}

bool anchor_place(struct anchor *anchor, int64_t apart_ns, int64_t asked_ns, int64_t now_ns,
                  struct stamp *ret)
{
        int64_t at_ns = anchor->base_ns + apart_ns;
        int64_t off_ns = 0;

        if (at_ns > now_ns + NEAR_NS)
                off_ns = now_ns - at_ns;
        else if (at_ns < asked_ns - NEAR_NS && asked_ns <= now_ns)
                off_ns = asked_ns - at_ns;
        anchor->base_ns += off_ns;
        *ret = (struct stamp){ .at_ns = at_ns + off_ns,
                               .is_moved = off_ns > FAR_NS || off_ns < -FAR_NS };
        if (ret->is_moved)
                anchor->moves += 3;
        else if (anchor->moves)
                anchor->moves--;
        return anchor->moves < 3 * STAMP_MOVES;
}

static uint64_t clamp(uint64_t ns, uint64_t low_ns, uint64_t high_ns)
{
        if (ns < low_ns)
                return low_ns;
        return ns > high_ns ? high_ns : ns;
}

static uint64_t lead_of(const struct sample *sample)
{
        uint64_t lead_ns = clamp(sample->lead_ns, 0, STAMP_LEAD_NS);

        return clamp(lead_ns, 0, sample->apart_ns / 2);
}

uint64_t sample_took_ns(const struct sample *sample, uint32_t *doubts, bool *ret_is_sure)
{
        uint64_t most_ns = sample->apart_ns - lead_of(sample);
        uint64_t unseen_ns = clamp(sample->unseen_ns, 0, sample->apart_ns);
        bool is_unlikely = !sample->apart_ns || sample->is_early;
        bool is_doubtful = is_unlikely || unseen_ns > sample->apart_ns / UNSEEN_PARTS;

        *ret_is_sure = false;
        if (sample->is_moved)
                return sample->paid_ns;
        *ret_is_sure = !is_doubtful || *doubts == STAMP_DOUBTS;
        *doubts = *ret_is_sure ? 0 : *doubts + 1;
        if (*ret_is_sure)
                return most_ns;
        return is_unlikely ? sample->paid_ns
                           : clamp(sample->paid_ns, sample->apart_ns - unseen_ns, most_ns);
}
