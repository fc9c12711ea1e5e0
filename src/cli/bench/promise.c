/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes what each session is promised by its terms (docs/compute.md), for programs that use as
 * much of the GPU as they get.
 */
#include <stdbool.h>

#include "cli/bench/mix.h"
#include "common/minmax.h"

/* part of the GPU that is divided among the sessions of the classes below rt */
#define FLOOR 0.01
#define HALVINGS 60u

/* The sessions of the mix, and which of them want the GPU at a time. */
struct asked {
        unsigned count;
        double cap[MIX_SESSIONS], weight[MIX_SESSIONS];
        /* what other sessions cannot take: the session's guarantee, or its part of FLOOR */
        double least[MIX_SESSIONS];
        bool wants[MIX_SESSIONS];
        enum mix_class class[MIX_SESSIONS];
};

static void add_floor(struct asked *asked)
{
        unsigned below = 0;

        for (unsigned i = 0; i < asked->count; i++)
                below += asked->wants[i] && asked->class[i] != MIX_RT;
        for (unsigned i = 0; i < asked->count; i++) {
                if (asked->wants[i] && asked->class[i] != MIX_RT)
                        asked->least[i] = max_double(asked->least[i],
                                                     min_double(asked->cap[i], FLOOR / below));
        }
}

static struct asked asked_at(const struct mix *mix, uint64_t at_ns)
{
        struct asked asked = { .count = mix->count };

        for (unsigned i = 0; i < mix->count; i++) {
                const struct mix_session *session = &mix->session[i];
                uint32_t cap_ppm = session->cap_ppm;

                for (unsigned at = 0; at < session->change_count; at++) {
                        if (session->change[at].at_ns <= at_ns)
                                cap_ppm = session->change[at].cap_ppm;
                }
                asked.wants[i] = at_ns >= session->from_ns && at_ns < session->until_ns;
                asked.cap[i] = (double)cap_ppm / MIX_WHOLE_PPM;
                asked.least[i] =
                        asked.wants[i] ? (double)session->guarantee_ppm / MIX_WHOLE_PPM : 0;
                asked.weight[i] = session->weight;
                asked.class[i] = session->class;
        }
        add_floor(&asked);
        return asked;
}

/* Returns what a session of the class gets if a weight of 1 gets `level`. */
static double at_level(const struct asked *asked, unsigned i, double level)
{
        return min_double(asked->cap[i], max_double(asked->weight[i] * level, asked->least[i]));
}

static double sum_at(const struct asked *asked, enum mix_class class, double level)
{
        double sum = 0;

        for (unsigned i = 0; i < asked->count; i++) {
                if (asked->wants[i] && asked->class[i] == class)
                        sum += at_level(asked, i, level);
        }
        return sum;
}

/* Divides `left` among the sessions of a class, including their guarantees. Returns what they do
 * not use. */
static double fill_class(const struct asked *asked, enum mix_class class, double left, double *ret)
{
        /* at a level of 1 even the session with the least weight gets the maximum */
        double low = 0, high = 1;

        for (unsigned i = 0; i < HALVINGS; i++) {
                double middle = (low + high) / 2;

                if (sum_at(asked, class, middle) > left)
                        high = middle;
                else
                        low = middle;
        }
        for (unsigned i = 0; i < asked->count; i++) {
                if (asked->wants[i] && asked->class[i] == class)
                        ret[i] = at_level(asked, i, low);
        }
        return left - sum_at(asked, class, low);
}

/* Returns what a class cannot have, because it is guaranteed to sessions of later classes. */
static double kept_for_later(const struct asked *asked, enum mix_class class)
{
        double kept = 0;

        for (unsigned i = 0; i < asked->count; i++) {
                if (asked->wants[i] && asked->class[i] > class)
                        kept += asked->least[i];
        }
        return kept;
}

void mix_promise(const struct mix *mix, uint64_t at_ns, double ret[MIX_SESSIONS])
{
        struct asked asked = asked_at(mix, at_ns);
        double left = 1;

        for (unsigned i = 0; i < MIX_SESSIONS; i++)
                ret[i] = 0;
        for (enum mix_class class = MIX_RT; class < MIX_CLASSES; class ++) {
                double kept = kept_for_later(&asked, class);

                left = fill_class(&asked, class, left - kept, ret) + kept;
        }
}

/* Returns the next time after `at_ns` at which something changes; at most `until_ns`. */
static uint64_t next_event(const struct mix *mix, uint64_t at_ns, uint64_t until_ns)
{
        for (unsigned i = 0; i < mix->count; i++) {
                const struct mix_session *session = &mix->session[i];

                if (session->from_ns > at_ns && session->from_ns < until_ns)
                        until_ns = session->from_ns;
                if (session->until_ns > at_ns && session->until_ns < until_ns)
                        until_ns = session->until_ns;
                for (unsigned k = 0; k < session->change_count; k++) {
                        if (session->change[k].at_ns > at_ns && session->change[k].at_ns < until_ns)
                                until_ns = session->change[k].at_ns;
                }
        }
        return until_ns;
}

void mix_promise_over(const struct mix *mix, uint64_t from_ns, uint64_t until_ns,
                      double ret[MIX_SESSIONS])
{
        double length = (double)(until_ns - from_ns), part[MIX_SESSIONS];

        for (unsigned i = 0; i < MIX_SESSIONS; i++)
                ret[i] = 0;
        while (from_ns < until_ns) {
                uint64_t next_ns = next_event(mix, from_ns, until_ns);

                mix_promise(mix, from_ns, part);
                for (unsigned i = 0; i < mix->count; i++)
                        ret[i] += part[i] * (double)(next_ns - from_ns) / length;
                from_ns = next_ns;
        }
}
