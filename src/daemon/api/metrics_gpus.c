/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the metrics of GPUs, one series for each GPU. A value that the driver does not report has
 * no series.
 */
#include <math.h>
#include <string.h>

#include "common/uuid.h"
#include "daemon/api/metrics_parts.h"

/* What the metrics of one GPU are read from. `device` is NULL if the driver does not answer. */
struct gpu_metrics {
        const struct sessions *sessions;
        const struct node *node;
        const struct card *card;
        const struct nvml_look *look;
        const struct sample_device *device;
};

/* Converts a number of bytes to a metric's value; NAN: the driver does not report it. */
static double of_bytes(uint64_t value)
{
        return value == SAMPLE_NONE ? NAN : (double)value;
}

static double of_whole(int64_t value, double scale)
{
        return value < 0 ? NAN : (double)value * scale;
}

static double total(const struct gpu_metrics *gpu)
{
        return (double)gpu->card->total_bytes;
}

static double card_used(const struct gpu_metrics *gpu)
{
        return (double)gpu->card->used_bytes;
}

static double promised(const struct gpu_metrics *gpu)
{
        return (double)sessions_promised(gpu->sessions, gpu->card->uuid);
}

static double room(const struct gpu_metrics *gpu)
{
        return (double)sessions_room(gpu->sessions, gpu->card->uuid);
}

static double free_memory(const struct gpu_metrics *gpu)
{
        return gpu->device ? of_bytes(gpu->device->free_bytes) : NAN;
}

static double unexplained(const struct gpu_metrics *gpu)
{
        uint64_t explained;

        if (!gpu->device || !gpu->device->has_processes || gpu->device->used_bytes == SAMPLE_NONE)
                return NAN;
        explained =
                node_explained_bytes(gpu->node, (unsigned)(gpu->device - gpu->look->sample.device));
        return gpu->device->used_bytes > explained ? (double)(gpu->device->used_bytes - explained)
                                                   : 0;
}

static double busy(const struct gpu_metrics *gpu)
{
        return gpu->device ? of_whole(gpu->device->busy_percent, 0.01) : NAN;
}

static double memory_busy(const struct gpu_metrics *gpu)
{
        return gpu->device ? of_whole(gpu->device->memory_percent, 0.01) : NAN;
}

static double temperature(const struct gpu_metrics *gpu)
{
        return gpu->device ? of_whole(gpu->device->celsius, 1) : NAN;
}

static double power(const struct gpu_metrics *gpu)
{
        return gpu->device ? of_whole(gpu->device->power_mw, 0.001) : NAN;
}

static double power_limit(const struct gpu_metrics *gpu)
{
        return gpu->device ? of_whole(gpu->device->power_limit_mw, 0.001) : NAN;
}

static double sm_clock(const struct gpu_metrics *gpu)
{
        return gpu->device ? of_whole(gpu->device->sm_mhz, 1e6) : NAN;
}

static double memory_clock(const struct gpu_metrics *gpu)
{
        return gpu->device ? of_whole(gpu->device->memory_mhz, 1e6) : NAN;
}

static double ecc_corrected(const struct gpu_metrics *gpu)
{
        return gpu->device ? of_bytes(gpu->device->ecc_corrected) : NAN;
}

static double ecc_uncorrected(const struct gpu_metrics *gpu)
{
        return gpu->device ? of_bytes(gpu->device->ecc_uncorrected) : NAN;
}

static double critical(const struct gpu_metrics *gpu)
{
        return gpu->device ? (double)gpu->device->xids : NAN;
}

/* Counts the GPU's processes for which is_so() is true; it gets their index in the poll. */
static double count_processes(const struct gpu_metrics *gpu,
                              bool (*is_so)(const struct gpu_metrics *gpu, unsigned process))
{
        unsigned at, found = 0;

        if (!gpu->device || !gpu->device->has_processes)
                return NAN;
        at = (unsigned)(gpu->device - gpu->look->sample.device);
        for (unsigned i = 0; i < gpu->look->sample.process_count; i++)
                found += gpu->look->sample.process[i].device == at && is_so(gpu, i);
        return found;
}

static bool is_of_session(const struct gpu_metrics *gpu, unsigned process)
{
        return node_holder(gpu->node, process).session != NULL;
}

static bool is_stranger(const struct gpu_metrics *gpu, unsigned process)
{
        return !is_of_session(gpu, process);
}

static bool is_unidentified(const struct gpu_metrics *gpu, unsigned process)
{
        return !nvml_look_who(gpu->look, gpu->look->sample.process[process].pid);
}

static double tenants(const struct gpu_metrics *gpu)
{
        return count_processes(gpu, is_of_session);
}

static double strangers(const struct gpu_metrics *gpu)
{
        return count_processes(gpu, is_stranger);
}

static double unidentified(const struct gpu_metrics *gpu)
{
        return count_processes(gpu, is_unidentified);
}

static const struct {
        const char *name, *type, *help;
        double (*value)(const struct gpu_metrics *gpu);
} metrics[] = {
        { "aliquot_gpu_memory_bytes", "gauge", "Memory of a GPU.", total },
        { "aliquot_gpu_memory_used_bytes", "gauge", "Memory in use on a GPU, by its driver.",
          card_used },
        { "aliquot_gpu_memory_free_bytes", "gauge", "Memory that its driver says is free.",
          free_memory },
        { "aliquot_gpu_memory_unexplained_bytes", "gauge",
          "Memory in use on a GPU that no session's ledger explains.", unexplained },
        { "aliquot_gpu_promised_bytes", "gauge", "Memory of a GPU that sessions were given.",
          promised },
        { "aliquot_gpu_room_bytes", "gauge", "The most that one more session would get of a GPU.",
          room },
        { "aliquot_gpu_busy_ratio", "gauge", "Share of the time in which kernels ran.", busy },
        { "aliquot_gpu_memory_busy_ratio", "gauge",
          "Share of the time in which its memory was busy.", memory_busy },
        { "aliquot_gpu_temperature_celsius", "gauge", "Temperature of a GPU.", temperature },
        { "aliquot_gpu_power_watts", "gauge", "Power that a GPU takes.", power },
        { "aliquot_gpu_power_limit_watts", "gauge", "Power that it may take.", power_limit },
        { "aliquot_gpu_sm_clock_hertz", "gauge", "Clock of its multiprocessors.", sm_clock },
        { "aliquot_gpu_memory_clock_hertz", "gauge", "Clock of its memory.", memory_clock },
        { "aliquot_gpu_ecc_corrected_errors_total", "counter",
          "Memory errors that were corrected since the driver was loaded.", ecc_corrected },
        { "aliquot_gpu_ecc_uncorrected_errors_total", "counter", "Memory errors that were not.",
          ecc_uncorrected },
        { "aliquot_gpu_critical_errors_total", "counter",
          "Critical errors (Xid) of a GPU that the daemon heard of.", critical },
        { "aliquot_gpu_session_processes", "gauge", "Processes of sessions on a GPU.", tenants },
        { "aliquot_gpu_strangers", "gauge", "Processes of no session on a GPU.", strangers },
        { "aliquot_gpu_unidentified", "gauge",
          "Processes on a GPU of which it is not known yet whose they are.", unidentified },
};

static const struct sample_device *device_of(const struct nvml_look *look, const uint8_t uuid[16])
{
        for (unsigned i = 0; look && i < look->sample.device_count; i++) {
                if (memcmp(look->sample.device[i].uuid, uuid, 16) == 0)
                        return &look->sample.device[i];
        }
        return NULL;
}

void metrics_put_gpus(FILE *out, const struct http_api *api)
{
        const struct cards *cards = &node_cards(api->options.node)->cards;
        struct gpu_metrics gpu = { .sessions = node_sessions(api->options.node),
                                   .node = api->options.node,
                                   .look = node_gpus(api->options.node) };
        char uuid[UUID_TEXT_BYTES];

        for (unsigned i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
                metrics_head(out, metrics[i].name, metrics[i].type, metrics[i].help);
                for (unsigned j = 0; j < cards->count; j++) {
                        double value;

                        gpu.card = &cards->card[j];
                        gpu.device = device_of(gpu.look, gpu.card->uuid);
                        value = metrics[i].value(&gpu);
                        if (!isnan(value))
                                fprintf(out, "%s{gpu=\"%s\"} %.16g\n", metrics[i].name,
                                        uuid_format(gpu.card->uuid, gpu.card->is_instance, uuid),
                                        value);
                }
        }
}
