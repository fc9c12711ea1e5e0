/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bench/record.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define SECOND_NS UINT64_C(1000000000)
#define SETTLE_NS (SECOND_NS / 2)
/* part of the GPU; a session that was promised less is not compared with it */
#define MIN_PROMISE 1e-6
/* a sample later than this shows that the program stood still, even on a busy machine */
#define LATE_NS (2 * SECOND_NS)
/* in launches, one by one, of the longest kernels of the mix */
#define KERNELS_WAITED_FOR 40u

void record_free(struct record *record)
{
        free(record->sample);
        record->sample = NULL;
}

const char *record_judge(const struct record *record)
{
        static const char *const judges[] = { "nobody", "the simulator's engine",
                                              "time stamps of the kernels" };

        return judges[record->judge];
}

/* Returns the sample at - 1, at the end of which sample `at` begins; zeros for sample 0. */
static struct load_sample end_sample(const struct load_sample *sample, unsigned at)
{
        return at ? sample[at - 1] : (struct load_sample){ 0 };
}

double record_delivered(const struct record *record, unsigned at, unsigned from, unsigned until)
{
        const struct load_sample *sample = record_samples(record, at);
        struct load_sample begin = end_sample(sample, from), end = end_sample(sample, until);

        return end.at_ns > begin.at_ns
                       ? (double)(end.busy_ns - begin.busy_ns) / (double)(end.at_ns - begin.at_ns)
                       : 0;
}

double record_promised(const struct record *record, unsigned at, unsigned from, unsigned until)
{
        const struct load_sample *sample = record_samples(record, at);
        double share[MIX_SESSIONS];

        mix_promise_over(&record->mix, end_sample(sample, from).at_ns,
                         end_sample(sample, until).at_ns, share);
        return share[at];
}

static double distance(double a, double b)
{
        return a > b ? a - b : b - a;
}

/* Returns the largest difference over any sequence of periods that lasts a second. */
static double worst_second(const struct record *record, unsigned at, unsigned from, unsigned until)
{
        unsigned width = (unsigned)((SECOND_NS + record->period_ns - 1) / record->period_ns);
        double worst = -1;

        for (unsigned i = from; i + width <= until; i++) {
                double off = distance(record_delivered(record, at, i, i + width),
                                      record_promised(record, at, i, i + width));

                if (off > worst)
                        worst = off;
        }
        return worst;
}

void record_figures(const struct record *record, unsigned at, struct record_figures *ret)
{
        const struct mix_session *session = &record->mix.session[at];
        uint64_t settled_ns = session->from_ns + SETTLE_NS;
        unsigned from = (unsigned)((settled_ns + record->period_ns - 1) / record->period_ns);
        unsigned until = record->samples;

        if (session->until_ns / record->period_ns < until)
                until = (unsigned)(session->until_ns / record->period_ns);
        *ret = (struct record_figures){ .has_any = from < until, .worst_second = -1 };
        if (!ret->has_any)
                return;
        ret->promised = record_promised(record, at, from, until);
        ret->delivered = record_delivered(record, at, from, until);
        ret->worst_second = worst_second(record, at, from, until);
}

void record_summarize(const struct record *record, struct record_summary *ret)
{
        double sum = 0, squares = 0;
        unsigned promised = 0;

        *ret = (struct record_summary){ .worst_second = -1, .jain = 1 };
        for (unsigned i = 0; i < record->mix.count; i++) {
                struct record_figures figures;

                ret->together += record_delivered(record, i, 0, record->samples);
                record_figures(record, i, &figures);
                if (!figures.has_any)
                        continue;
                if (figures.promised > MIN_PROMISE) {
                        double ratio = figures.delivered / figures.promised;

                        sum += ratio;
                        squares += ratio * ratio;
                        promised++;
                }
                ret->mean_error += distance(figures.delivered, figures.promised);
                if (figures.worst_second > ret->worst_second)
                        ret->worst_second = figures.worst_second;
                ret->count++;
        }
        if (ret->count)
                ret->mean_error /= ret->count;
        if (squares > 0)
                ret->jain = sum * sum / (promised * squares);
}

/* Returns for how long no sample was made although some were due. */
static uint64_t latest_ns(const struct record *record, unsigned at)
{
        const struct load_sample *sample = record_samples(record, at);
        uint64_t latest = 0;

        for (unsigned i = 0; i < record->samples; i++) {
                uint64_t due_ns = (i + 1) * record->period_ns;

                if (sample[i].at_ns > due_ns && sample[i].at_ns - due_ns > latest)
                        latest = sample[i].at_ns - due_ns;
        }
        return latest;
}

/* Returns whether the GPU did nothing for a session in a time that was long enough for several
 * launches. */
static bool had_nothing(const struct record *record, unsigned at)
{
        const struct mix_session *session = &record->mix.session[at];
        uint64_t length_ns = record->samples * record->period_ns, longest_ns = 0;
        struct record_figures figures;

        for (unsigned i = 0; i < record->mix.count; i++) {
                if (record->mix.session[i].kernel_ns > longest_ns)
                        longest_ns = record->mix.session[i].kernel_ns;
        }
        if (session->until_ns < length_ns)
                length_ns = session->until_ns;
        record_figures(record, at, &figures);
        return figures.has_any && figures.promised > MIN_PROMISE &&
               length_ns > session->from_ns + SECOND_NS + KERNELS_WAITED_FOR * longest_ns &&
               record_samples(record, at)[record->samples - 1].busy_ns == 0;
}

int record_check(const struct record *record, struct error *err)
{
        for (unsigned i = 0; i < record->mix.count; i++) {
                const char *word = record->mix.session[i].word;
                uint64_t late_ns = latest_ns(record, i);

                if (late_ns > LATE_NS)
                        return fail(err, -EIO,
                                    "%s: its program stood still for %.1f s; what it had of the "
                                    "GPU is no result",
                                    word, (double)late_ns / SECOND_NS);
                if (had_nothing(record, i))
                        return fail(err, -EIO,
                                    "%s: its program made no progress: it received no GPU time",
                                    word);
        }
        return 0;
}
