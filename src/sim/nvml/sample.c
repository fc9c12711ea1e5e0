/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of utilisation: of a card, of its processes, and for accounting.
 *
 * The node keeps engine time in buckets of NODE_BUCKET_NS for the last seconds. A completed bucket
 * is one sample, whose time stamp is the bucket's end. A process's share covers the time from the
 * caller's last time stamp to the last reported bucket (setting sample=). The cards have no
 * encoders or decoders.
 */
#include <stdlib.h>

#include "sim/node/clock.h"
#include "sim/nvml/give.h"
#include "sim/nvml/process.h"

#define SAMPLES_MAX (NODE_BUCKETS - 2)
#define IDLE_PERIOD_US 100000

struct span {
        uint64_t first; /* first bucket */
        /* index behind the last bucket; never includes the bucket that is being filled */
        uint64_t end;
};

/* Returns the completed buckets after the caller's time stamp. */
static struct span span_since(uint64_t seen_us)
{
        uint64_t seen_ns = wall_to_sim_ns(seen_us);
        struct span span = { .end = sim_now_ns() / NODE_BUCKET_NS };

        /* A time stamp was rounded down to microseconds, so the nearest end of a bucket is used. */
        if (seen_us != 0)
                span.first = (seen_ns + NODE_BUCKET_NS / 2) / NODE_BUCKET_NS;
        if (span.first + SAMPLES_MAX < span.end)
                span.first = span.end - SAMPLES_MAX;
        if (span.first > span.end)
                span.first = span.end;
        return span;
}

static uint64_t busy_ns(const struct node_meter *meter, struct span span)
{
        if (span.first >= span.end)
                return 0;
        return node_meter_read(meter, span.end * NODE_BUCKET_NS,
                               (span.end - span.first) * NODE_BUCKET_NS);
}

static unsigned sample_value(const struct gpu *gpu, nvmlSamplingType_t type, uint64_t bucket)
{
        struct span span = { .first = bucket, .end = bucket + 1 };
        const struct node_meter *meter = gpu_device(gpu)->meter;
        unsigned busy = percent_of(busy_ns(&meter[ENGINE_COMPUTE], span), NODE_BUCKET_NS);
        unsigned idle_mw = nvml.spec->idle_power_mw;

        switch (type) {
        case NVML_TOTAL_POWER_SAMPLES:
                return idle_mw + (nvml.spec->power_limit_mw / 10 * 9 - idle_mw) / 100 * busy;
        case NVML_GPU_UTILIZATION_SAMPLES:
                return busy;
        case NVML_MEMORY_UTILIZATION_SAMPLES:
                return percent_of(busy_ns(&meter[ENGINE_COPY], span), NODE_BUCKET_NS);
        case NVML_PROCESSOR_CLK_SAMPLES:
                return busy ? (unsigned)nvml.spec->clock_khz / 1000 : nvml.model->idle_clock_mhz;
        case NVML_MEMORY_CLK_SAMPLES:
                return busy ? (unsigned)nvml.spec->memory_clock_khz / 1000
                            : nvml.model->idle_memory_clock_mhz;
        default:
                return 0;
        }
}

nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t handle, nvmlSamplingType_t type,
                                  unsigned long long seen_us, nvmlValueType_t *ret_type,
                                  unsigned *count, nvmlSample_t *ret_samples)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, count, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        if (!ret_type || (unsigned)type >= NVML_SAMPLINGTYPE_COUNT)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (type == NVML_MODULE_POWER_SAMPLES || gpu->is_divided)
                return NVML_ERROR_NOT_SUPPORTED;
        *ret_type = NVML_VALUE_TYPE_UNSIGNED_INT;
        if (!ret_samples) {
                *count = SAMPLES_MAX;
                return NVML_SUCCESS;
        }
        struct span span = span_since(seen_us);
        unsigned room = *count;
        if (span.first == span.end)
                return NVML_ERROR_NOT_FOUND;
        if (span.end - span.first > room)
                span.first = span.end - room;
        *count = 0;
        for (uint64_t bucket = span.first; bucket < span.end; bucket++) {
                nvmlSample_t *sample = &ret_samples[(*count)++];

                sample->timeStamp = wall_us((bucket + 1) * NODE_BUCKET_NS);
                sample->sampleValue.ullVal = sample_value(gpu, type, bucket);
        }
        return NVML_SUCCESS;
}

/* Returns the part of these buckets for which shares are already reported: that happens only once a
 * period (sample=). */
static struct span shares_since(uint64_t seen_us)
{
        struct span span = span_since(seen_us);
        uint64_t period = nvml.config->sample_ns / NODE_BUCKET_NS;

        span.end -= span.end % period;
        if (span.first > span.end)
                span.first = span.end;
        return span;
}

/* The share of a process that used the card in the span. */
struct process_share {
        unsigned pid, compute, copy;
        uint64_t stamp_us;
};

/* Reads the process's share. False when it did nothing. */
static bool share_read(const struct gpu_process *process, struct span span,
                       struct process_share *ret)
{
        const struct node_meter *meter = nvml.node->meter[process->row][process->unit];
        uint64_t whole_ns = (span.end - span.first) * NODE_BUCKET_NS;
        uint64_t compute_ns = busy_ns(&meter[ENGINE_COMPUTE], span);
        uint64_t copy_ns = busy_ns(&meter[ENGINE_COPY], span);

        *ret = (struct process_share){ process->pid, percent_of(compute_ns, whole_ns),
                                       percent_of(copy_ns, whole_ns),
                                       wall_us(span.end * NODE_BUCKET_NS) };
        return compute_ns || copy_ns;
}

typedef void put_fn(void *out, unsigned i, const struct process_share *share);

/* Lists the shares. `count` has the room in `out`, and is set to the number of shares. If the room
 * is too small, nothing is written to `out`. */
static nvmlReturn_t shares_give(const struct gpu *gpu, uint64_t seen_us, unsigned *count,
                                put_fn *put, void *out)
{
        struct span span = shares_since(seen_us);
        unsigned listed, found = 0;
        struct gpu_process *list = gpu_process_list(gpu, &listed);
        struct process_share share;

        if (!list)
                return NVML_ERROR_MEMORY;
        for (unsigned i = 0; i < listed; i++)
                found += share_read(&list[i], span, &share);
        bool has_room = out && *count >= found;
        for (unsigned i = 0, next = 0; i < listed && next < found && has_room; i++) {
                if (share_read(&list[i], span, &share))
                        put(out, next++, &share);
        }
        free(list);
        *count = found;
        if (found == 0)
                return NVML_ERROR_NOT_FOUND;
        return has_room ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
}

static void put_sample(void *out, unsigned i, const struct process_share *share)
{
        nvmlProcessUtilizationSample_t *samples = out;

        samples[i] = (nvmlProcessUtilizationSample_t){ .pid = share->pid,
                                                       .timeStamp = share->stamp_us,
                                                       .smUtil = share->compute,
                                                       .memUtil = share->copy };
}

static void put_info(void *out, unsigned i, const struct process_share *share)
{
        nvmlProcessUtilizationInfo_v1_t *infos = out;

        infos[i] = (nvmlProcessUtilizationInfo_v1_t){ .pid = share->pid,
                                                      .timeStamp = share->stamp_us,
                                                      .smUtil = share->compute,
                                                      .memUtil = share->copy };
}

nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t handle,
                                             nvmlProcessUtilizationSample_t *ret_samples,
                                             unsigned *count, unsigned long long seen_us)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, count, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        if (gpu->is_divided)
                return NVML_ERROR_NOT_SUPPORTED;
        return shares_give(gpu, seen_us, count, put_sample, ret_samples);
}

nvmlReturn_t nvmlDeviceGetProcessesUtilizationInfo(nvmlDevice_t handle,
                                                   nvmlProcessesUtilizationInfo_t *info)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, info, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        if (info->version != nvmlProcessesUtilizationInfo_v1)
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        if (gpu->is_divided)
                return NVML_ERROR_NOT_SUPPORTED;
        return shares_give(gpu, info->lastSeenTimeStamp, &info->processSamplesCount, put_info,
                           info->procUtilArray);
}

/* Reports that an engine is idle, for engines that the cards do not have. */
nvmlReturn_t idle_give(const char *function, nvmlDevice_t handle, unsigned *ret_percent,
                       unsigned *ret_period_us)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(function, handle, ret_percent, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        if (!ret_period_us)
                return NVML_ERROR_INVALID_ARGUMENT;
        *ret_percent = 0;
        *ret_period_us = IDLE_PERIOD_US;
        return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetEncoderStats(nvmlDevice_t handle, unsigned *ret_sessions,
                                       unsigned *ret_fps, unsigned *ret_latency)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, ret_sessions, &gpu);

        if (rc != NVML_SUCCESS)
                return rc;
        if (!ret_fps || !ret_latency)
                return NVML_ERROR_INVALID_ARGUMENT;
        *ret_sessions = *ret_fps = *ret_latency = 0;
        return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetFBCStats(nvmlDevice_t handle, nvmlFBCStats_t *ret_stats)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, ret_stats, &gpu);

        if (rc == NVML_SUCCESS)
                *ret_stats = (nvmlFBCStats_t){ .sessionsCount = 0 };
        return rc;
}
