/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes histograms about turns, for each GPU on which a session launched: how long sessions wait
 * for a turn, how long they take to end it, and how long a hand-over takes. The number of series
 * depends only on the number of GPUs.
 */
#include "daemon/api/metrics_parts.h"

#include "common/uuid.h"
#include "daemon/schedule/scheduler.h"

typedef unsigned long long number;

enum { WAIT_BATCH, WAIT_NORMAL, WAIT_RT, YIELD, HANDOVER, PARTS };

static const struct histogram *part_of(const struct sched_times *times, unsigned part)
{
        if (part == YIELD)
                return &times->yield;
        return part == HANDOVER ? &times->handover : &times->wait[part];
}

static const struct {
        /* help NULL: the entry belongs to the same metric as the one before */
        const char *name, *help;
        const char *labels;
} parts[PARTS] = {
        [WAIT_BATCH] = { "aliquot_gpu_turn_wait_seconds",
                         "How long sessions that wanted a GPU waited for their turn, their own "
                         "caps included.",
                         ",priority=\"batch\"" },
        [WAIT_NORMAL] = { "aliquot_gpu_turn_wait_seconds", NULL, ",priority=\"normal\"" },
        [WAIT_RT] = { "aliquot_gpu_turn_wait_seconds", NULL, ",priority=\"rt\"" },
        [YIELD] = { "aliquot_gpu_yield_seconds",
                    "Time from the end of a turn that was taken from a session until its work "
                    "ended.",
                    "" },
        [HANDOVER] = { "aliquot_gpu_handover_seconds",
                       "Time from then until the first launch of the next session; 0 if that came "
                       "before.",
                       "" },
};

static void put_histogram(FILE *out, unsigned part, const char *gpu,
                          const struct histogram *histogram)
{
        const char *name = parts[part].name, *labels = parts[part].labels;
        uint64_t count = 0;

        for (unsigned i = 0; i < HISTOGRAM_BOUNDS; i++) {
                count += histogram->count[i];
                fprintf(out, "%s_bucket{gpu=\"%s\"%s,le=\"%g\"} %llu\n", name, gpu, labels,
                        (double)histogram_bound_ns[i] / 1e9, (number)count);
        }
        count += histogram->count[HISTOGRAM_BOUNDS];
        fprintf(out, "%s_bucket{gpu=\"%s\"%s,le=\"+Inf\"} %llu\n", name, gpu, labels,
                (number)count);
        fprintf(out, "%s_sum{gpu=\"%s\"%s} %.9f\n", name, gpu, labels,
                (double)histogram->sum_ns / 1e9);
        fprintf(out, "%s_count{gpu=\"%s\"%s} %llu\n", name, gpu, labels, (number)count);
}

void metrics_put_compute(FILE *out, const struct http_api *api)
{
        const struct cards *cards = &node_cards(api->options.node)->cards;
        struct sched_times times;
        char uuid[UUID_TEXT_BYTES];

        for (unsigned i = 0; i < PARTS; i++) {
                if (parts[i].help)
                        metrics_head(out, parts[i].name, "histogram", parts[i].help);
                for (unsigned j = 0; j < cards->count; j++) {
                        const struct card *card = &cards->card[j];

                        if (scheduler_times(api->options.scheduler, card->uuid, &times))
                                put_histogram(out, i,
                                              uuid_format(card->uuid, card->is_instance, uuid),
                                              part_of(&times, i));
                }
        }
}
