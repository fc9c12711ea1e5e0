/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the processes on the cards, and the part of a card's time that each process has used.
 */
#include "machine/sample_parts.h"

#include <errno.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/minmax.h"

#define LIST_TRIES 4u  /* tries to list, since processes may start between counting and listing */
#define LIST_SPARE 16u /* room for processes that start meanwhile */

static const uint8_t list_kinds[SAMPLE_LISTS] = { SAMPLE_COMPUTE, SAMPLE_GRAPHICS, SAMPLE_MPS };

static int make_room(struct sample *sample, unsigned more)
{
        unsigned room = sample->process_count + more;
        struct sample_process *process;

        if (room <= sample->process_room)
                return 0;
        process = reallocarray(sample->process, room, sizeof(*process));
        if (!process)
                return -ENOMEM;
        sample->process = process;
        sample->process_room = room;
        return 0;
}

static void add_all(struct sample *sample, unsigned device, unsigned list,
                    const nvmlProcessInfo_t *infos, unsigned count)
{
        for (unsigned i = 0; i < count; i++) {
                if (!infos[i].pid)
                        continue;
                sample->process[sample->process_count++] = (struct sample_process){
                        .pid = infos[i].pid,
                        .device = (uint8_t)device,
                        .kinds = list_kinds[list],
                        .busy_percent = -1,
                        .memory_percent = -1,
                        /* NVML_VALUE_NOT_AVAILABLE has the value of SAMPLE_NONE */
                        .bytes = infos[i].usedGpuMemory,
                };
        }
}

int sample_list(const struct sample_nvml *nvml, nvmlDevice_t handle, struct sample *sample,
                unsigned device, unsigned list)
{
        nvmlReturn_t rc = NVML_ERROR_INSUFFICIENT_SIZE;
        unsigned room = LIST_SPARE;

        if (!nvml->list[list])
                return 0;
        for (unsigned i = 0; i < LIST_TRIES && rc == NVML_ERROR_INSUFFICIENT_SIZE; i++) {
                nvmlProcessInfo_t *infos = calloc(room, sizeof(*infos));
                unsigned count = room;

                if (!infos || make_room(sample, room) < 0) {
                        free(infos);
                        return -ENOMEM;
                }
                rc = nvml->list[list](handle, &count, infos);
                if (rc == NVML_SUCCESS)
                        add_all(sample, device, list, infos, min_u32(count, room));
                free(infos);
                room = count + LIST_SPARE;
        }
        if (sample_told(sample, rc))
                sample->device[device].has_processes = true;
        return 0;
}

static int compare_processes(const void *a, const void *b)
{
        const struct sample_process *left = a, *right = b;

        if (left->pid != right->pid)
                return left->pid < right->pid ? -1 : 1;
        return (int)left->device - (int)right->device;
}

/* A process can be in several lists, and each list reports all its memory, so the largest
 * value counts. */
void sample_merge(struct sample *sample)
{
        unsigned kept = 0;

        if (sample->process_count > 1)
                qsort(sample->process, sample->process_count, sizeof(*sample->process),
                      compare_processes);
        for (unsigned i = 0; i < sample->process_count; i++) {
                const struct sample_process *next = &sample->process[i];
                struct sample_process *last = kept ? &sample->process[kept - 1] : NULL;

                if (!last || compare_processes(last, next) != 0) {
                        sample->process[kept++] = *next;
                        continue;
                }
                last->kinds |= next->kinds;
                if (last->bytes == SAMPLE_NONE ||
                    (next->bytes != SAMPLE_NONE && next->bytes > last->bytes))
                        last->bytes = next->bytes;
        }
        sample->process_count = kept;
}

static struct sample_process *find(const struct sample *sample, uint32_t pid, unsigned device)
{
        const struct sample_process key = { .pid = pid, .device = (uint8_t)device };

        return sample->process_count ? bsearch(&key, sample->process, sample->process_count,
                                               sizeof(key), compare_processes)
                                     : NULL;
}

const struct sample_process *sample_find(const struct sample *sample, uint32_t pid, unsigned device)
{
        return find(sample, pid, device);
}

static int16_t percent(unsigned told_percent)
{
        return told_percent <= 100 ? (int16_t)told_percent : -1;
}

/* Returns the stamp of a process; NULL: it was never reported, or its stamp was dropped. */
static struct sampler_stamp *find_stamp(struct sampler_card *card, uint32_t pid)
{
        for (unsigned i = 0; i < card->stamp_count; i++) {
                if (card->stamp[i].pid == pid)
                        return &card->stamp[i];
        }
        return NULL;
}

/* Returns a stamp to fill. If there is no room, drops the oldest stamp and raises *forgotten_us to
 * its time. */
static struct sampler_stamp *make_stamp(struct sampler_card *card, uint64_t *forgotten_us)
{
        struct sampler_stamp *oldest = card->stamp;

        if (card->stamp_count < SAMPLER_STAMPS)
                return &card->stamp[card->stamp_count++];
        for (unsigned i = 1; i < SAMPLER_STAMPS; i++) {
                if (card->stamp[i].seen_us < oldest->seen_us)
                        oldest = &card->stamp[i];
        }
        if (oldest->seen_us > *forgotten_us)
                *forgotten_us = oldest->seen_us;
        return oldest;
}

/* Converts a report to GPU time. The report covers the time since the requested time (asked_us), or
 * since the process's own stamp (own_us) if that is later. Either may be before the last sample, so
 * the time is limited to elapsed_ns. */
static uint64_t busy_ns(const nvmlProcessUtilizationSample_t *share, uint64_t asked_us,
                        uint64_t own_us, uint64_t elapsed_ns)
{
        uint64_t since_us = asked_us > own_us && asked_us < share->timeStamp ? asked_us : own_us;
        uint64_t span_us = since_us ? share->timeStamp - since_us : 0;
        uint64_t span_ns = span_us < elapsed_ns / 1000 ? span_us * 1000 : elapsed_ns;

        return percent(share->smUtil) > 0 ? span_ns / 100 * share->smUtil : 0;
}

/* The driver's reports about processes in the last `elapsed_ns`. */
struct share_list {
        const nvmlProcessUtilizationSample_t *share;
        unsigned count;
        uint64_t elapsed_ns;
};

/* Stores the reports in the sample. Each process has its own stamp, since a report can be new
 * although that of another process is newer. So the next request is for reports since the
 * oldest stamp. */
static void add_shares(struct sampler_card *card, struct sample *sample, unsigned device,
                       const struct share_list *list)
{
        const nvmlProcessUtilizationSample_t *shares = list->share;
        uint64_t oldest_us = UINT64_MAX, forgotten_us = card->forgotten_us;

        for (unsigned i = 0; i < list->count; i++) {
                struct sample_process *found = find(sample, shares[i].pid, device);
                struct sampler_stamp *stamp = find_stamp(card, shares[i].pid);

                if (shares[i].timeStamp <= (stamp ? stamp->seen_us : card->forgotten_us))
                        continue; /* the report is not new: some drivers repeat old ones */
                if (found) {
                        found->busy_percent = percent(shares[i].smUtil);
                        found->memory_percent = percent(shares[i].memUtil);
                        found->busy_ns = busy_ns(&shares[i], card->seen_us,
                                                 stamp ? stamp->seen_us : 0, list->elapsed_ns);
                }
                if (!stamp)
                        stamp = make_stamp(card, &forgotten_us);
                *stamp = (struct sampler_stamp){ shares[i].pid, shares[i].timeStamp };
                if (shares[i].timeStamp < oldest_us)
                        oldest_us = shares[i].timeStamp;
        }
        card->forgotten_us = forgotten_us;
        if (oldest_us != UINT64_MAX)
                card->seen_us = oldest_us;
}

/* Sets the utilisation of all processes of a device to 0, since a process without a report used
 * no time. */
static void clear_shares(struct sample *sample, unsigned device)
{
        for (unsigned i = 0; i < sample->process_count; i++) {
                if (sample->process[i].device == device)
                        sample->process[i].busy_percent = sample->process[i].memory_percent = 0;
        }
}

int sample_shares(const struct sample_nvml *nvml, struct sampler_card *card, struct sample *sample,
                  unsigned device)
{
        nvmlReturn_t rc = NVML_ERROR_INSUFFICIENT_SIZE;
        unsigned room = sample->process_count + LIST_SPARE;
        uint64_t now_ns = clock_now_ns(), elapsed_ns = now_ns - card->read_ns;

        if (!nvml->shares || !sample->device[device].has_processes)
                return 0;
        for (unsigned i = 0; i < LIST_TRIES && rc == NVML_ERROR_INSUFFICIENT_SIZE; i++) {
                nvmlProcessUtilizationSample_t *shares = calloc(room, sizeof(*shares));
                unsigned count = room;

                if (!shares)
                        return -ENOMEM;
                rc = nvml->shares(card->handle, shares, &count, card->seen_us);
                if (rc == NVML_SUCCESS || rc == NVML_ERROR_NOT_FOUND)
                        clear_shares(sample, device);
                if (rc == NVML_SUCCESS)
                        add_shares(
                                card, sample, device,
                                &(struct share_list){ shares, min_u32(count, room), elapsed_ns });
                free(shares);
                room = count + LIST_SPARE;
        }
        if (sample_told(sample, rc) || rc == NVML_ERROR_NOT_FOUND) {
                sample->device[device].has_shares = true;
                card->read_ns = now_ns;
        }
        return 0;
}
