/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was busy when: samples of a card, shares of its processes, accounting.
 *
 * The node keeps engine time in buckets of NODE_BUCKET_NS for the last seconds; one bucket that has
 * ended is one sample, stamped with its end. A process's share is taken from the caller's last
 * stamp to the last ended bucket. Encoders, decoders and the like do not exist here.
 */
#include <stdlib.h>

#include "common/atomic.h"
#include "common/scoped.h"
#include "sim/clock.h"
#include "sim/nvml_process.h"

#define SAMPLES_MOST (NODE_BUCKETS - 2)
#define IDLE_PERIOD_US 100000

struct span {
        uint64_t first; /* bucket */
        uint64_t end;   /* the bucket that runs now: not in it */
};

/* The ended buckets that the caller has not seen. */
static struct span span_since(uint64_t seen_us)
{
        uint64_t seen_ns = wall_to_sim_ns(seen_us);
        struct span span = { .end = sim_now_ns() / NODE_BUCKET_NS };

        /* A stamp was rounded down to microseconds; nearest bucket end. */
        if (seen_us != 0)
                span.first = (seen_ns + NODE_BUCKET_NS / 2) / NODE_BUCKET_NS;
        if (span.first + SAMPLES_MOST < span.end)
                span.first = span.end - SAMPLES_MOST;
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

static unsigned percent(uint64_t part_ns, uint64_t whole_ns)
{
        uint64_t value = whole_ns ? part_ns * 100 / whole_ns : 0;

        return value < 100 ? (unsigned)value : 100;
}

static unsigned sample_value(const struct gpu *gpu, nvmlSamplingType_t type, uint64_t bucket)
{
        struct span span = { .first = bucket, .end = bucket + 1 };
        const struct node_meter *meter = gpu_device(gpu)->meter;
        unsigned busy = percent(busy_ns(&meter[ENGINE_COMPUTE], span), NODE_BUCKET_NS);
        unsigned idle_mw = nvml.spec->idle_power_mw;

        switch (type) {
        case NVML_TOTAL_POWER_SAMPLES:
                return idle_mw + (nvml.spec->power_limit_mw / 10 * 9 - idle_mw) / 100 * busy;
        case NVML_GPU_UTILIZATION_SAMPLES:
                return busy;
        case NVML_MEMORY_UTILIZATION_SAMPLES:
                return percent(busy_ns(&meter[ENGINE_COPY], span), NODE_BUCKET_NS);
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
                *count = SAMPLES_MOST;
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

/* Shares of the processes that did something in the span, at most as many as listed. */
struct share {
        unsigned pid, compute, copy;
};

static struct share *shares_read(const struct gpu *gpu, struct span span, unsigned *ret_count)
{
        uint64_t whole_ns = (span.end - span.first) * NODE_BUCKET_NS;
        unsigned listed, count = 0;
        scoped_free struct gpu_process *list = gpu_process_list(gpu, &listed);
        struct share *shares = list ? calloc(listed + 1, sizeof(*shares)) : NULL;

        for (unsigned i = 0; shares && i < listed; i++) {
                const struct node_meter *meter = nvml.node->meter[list[i].row][list[i].unit];
                uint64_t compute_ns = busy_ns(&meter[ENGINE_COMPUTE], span);
                uint64_t copy_ns = busy_ns(&meter[ENGINE_COPY], span);

                if (compute_ns || copy_ns)
                        shares[count++] =
                                (struct share){ list[i].pid, percent(compute_ns, whole_ns),
                                                percent(copy_ns, whole_ns) };
        }
        *ret_count = count;
        return shares;
}

nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t handle,
                                             nvmlProcessUtilizationSample_t *ret_samples,
                                             unsigned *count, unsigned long long seen_us)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, count, &gpu);
        unsigned found;

        if (rc != NVML_SUCCESS)
                return rc;
        if (gpu->is_divided)
                return NVML_ERROR_NOT_SUPPORTED;
        struct span span = span_since(seen_us);
        scoped_free struct share *shares = shares_read(gpu, span, &found);
        if (!shares)
                return NVML_ERROR_MEMORY;
        unsigned room = *count;
        *count = found;
        if (found == 0)
                return NVML_ERROR_NOT_FOUND;
        if (!ret_samples || room < found)
                return NVML_ERROR_INSUFFICIENT_SIZE;
        for (unsigned i = 0; i < found; i++)
                ret_samples[i] = (nvmlProcessUtilizationSample_t){
                        .pid = shares[i].pid,
                        .timeStamp = wall_us(span.end * NODE_BUCKET_NS),
                        .smUtil = shares[i].compute,
                        .memUtil = shares[i].copy,
                };
        return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetProcessesUtilizationInfo(nvmlDevice_t handle,
                                                   nvmlProcessesUtilizationInfo_t *ret_info)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, ret_info, &gpu);
        unsigned found;

        if (rc != NVML_SUCCESS)
                return rc;
        if (ret_info->version != nvmlProcessesUtilizationInfo_v1)
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        if (gpu->is_divided)
                return NVML_ERROR_NOT_SUPPORTED;
        struct span span = span_since(ret_info->lastSeenTimeStamp);
        scoped_free struct share *shares = shares_read(gpu, span, &found);
        if (!shares)
                return NVML_ERROR_MEMORY;
        unsigned room = ret_info->processSamplesCount;
        ret_info->processSamplesCount = found;
        if (found == 0)
                return NVML_ERROR_NOT_FOUND;
        if (!ret_info->procUtilArray || room < found)
                return NVML_ERROR_INSUFFICIENT_SIZE;
        for (unsigned i = 0; i < found; i++)
                ret_info->procUtilArray[i] = (nvmlProcessUtilizationInfo_v1_t){
                        .timeStamp = wall_us(span.end * NODE_BUCKET_NS),
                        .pid = shares[i].pid,
                        .smUtil = shares[i].compute,
                        .memUtil = shares[i].copy,
                };
        return NVML_SUCCESS;
}

/* Engines that are not there are never busy. */
static nvmlReturn_t idle_give(const char *function, nvmlDevice_t handle, unsigned *ret_percent,
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

nvmlReturn_t nvmlDeviceGetEncoderUtilization(nvmlDevice_t handle, unsigned *ret_percent,
                                             unsigned *ret_period_us)
{
        return idle_give(__func__, handle, ret_percent, ret_period_us);
}

nvmlReturn_t nvmlDeviceGetDecoderUtilization(nvmlDevice_t handle, unsigned *ret_percent,
                                             unsigned *ret_period_us)
{
        return idle_give(__func__, handle, ret_percent, ret_period_us);
}

nvmlReturn_t nvmlDeviceGetJpgUtilization(nvmlDevice_t handle, unsigned *ret_percent,
                                         unsigned *ret_period_us)
{
        return idle_give(__func__, handle, ret_percent, ret_period_us);
}

nvmlReturn_t nvmlDeviceGetOfaUtilization(nvmlDevice_t handle, unsigned *ret_percent,
                                         unsigned *ret_period_us)
{
        return idle_give(__func__, handle, ret_percent, ret_period_us);
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

nvmlReturn_t nvmlDeviceGetEncoderSessions(nvmlDevice_t handle, unsigned *count,
                                          nvmlEncoderSessionInfo_t *ret_sessions)
{
        return nvml_give(__func__, handle, count, 0);
}

nvmlReturn_t nvmlDeviceGetFBCStats(nvmlDevice_t handle, nvmlFBCStats_t *ret_stats)
{
        const struct gpu *gpu;
        nvmlReturn_t rc = nvml_enter_card(__func__, handle, ret_stats, &gpu);

        if (rc == NVML_SUCCESS)
                *ret_stats = (nvmlFBCStats_t){ .sessionsCount = 0 };
        return rc;
}

nvmlReturn_t nvmlDeviceGetFBCSessions(nvmlDevice_t handle, unsigned *count,
                                      nvmlFBCSessionInfo_t *ret_sessions)
{
        return nvml_give(__func__, handle, count, 0);
}
