/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One reading of all GPUs by the driver's NVML: memory, utilisation, temperature, processes.
 *
 *      cards_start(handle, path, &err)                 see cards.h
 *      sample_bind(handle, &sampler)                   the same handle
 *      sample_take(&sampler, &cards, SAMPLE_WHOLE, &sample)
 *      sample_release(&sample)
 *
 * A value that the driver does not report is SAMPLE_NONE or -1, never 0: not every GPU, driver and
 * instance reports all. Devices are those of `cards`, in their order. A card that is split into MIG
 * instances lists its processes only with these. Processes are sorted by pid, and a process in
 * several of the driver's lists appears once per GPU; the driver reports pids of the reader's PID
 * namespace.
 *
 * Each call may block as long as the driver does. One thread at a time.
 */
#ifndef ALIQUOT_MACHINE_SAMPLE_H
#define ALIQUOT_MACHINE_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/nvml.h"
#include "machine/cards.h"

#define SAMPLE_NONE UINT64_MAX
#define SAMPLE_LISTS 3u
#define SAMPLER_STAMPS 256u /* per card; with more processes the oldest are dropped */

/* Bits: the driver's lists that contain a process. */
enum sample_kind { SAMPLE_COMPUTE = 1, SAMPLE_GRAPHICS = 2, SAMPLE_MPS = 4 };

struct sample_process {
        uint32_t pid;
        uint8_t device; /* its index in the sample */
        uint8_t kinds;
        int16_t busy_percent; /* of the GPU's time since the last sample; -1 */
        int16_t memory_percent;
        uint64_t busy_ns; /* likewise, at least; 0 without has_shares */
        uint64_t bytes;   /* SAMPLE_NONE */
};

struct sample_device {
        uint8_t uuid[16];
        bool is_instance;
        bool has_processes; /* the driver listed them, perhaps none */
        bool has_shares;    /* and reported their utilisation since an earlier sample */
        int busy_percent, memory_percent;
        int celsius;
        int sm_mhz, memory_mhz;
        int64_t power_mw, power_limit_mw; /* -1 */
        uint64_t total_bytes, used_bytes, free_bytes;
        uint64_t reserved_bytes; /* by the driver, not in used_bytes; SAMPLE_NONE: may be in it */
        uint64_t ecc_corrected, ecc_uncorrected; /* since the driver was loaded */
        uint64_t xids;                           /* critical errors since sample_bind() */
        uint32_t xid_last;                       /* the number of the latest; if xids > 0 */
};

struct sample {
        uint64_t listed_ns; /* CLOCK_BOOTTIME, before the processes were listed */
        uint64_t failures;  /* failed calls, except those unsupported here */
        unsigned device_count;
        struct sample_device device[SETTINGS_GPUS];
        unsigned process_count, process_room;
        struct sample_process *process; /* owned */
};

/* NVML's functions; NULL: this driver lacks it. */
struct sample_nvml {
        __typeof__(nvmlDeviceGetHandleByUUID) *by_uuid;
        __typeof__(nvmlDeviceGetMemoryInfo) *memory;
        __typeof__(nvmlDeviceGetMemoryInfo_v2) *memory_v2;
        __typeof__(nvmlDeviceGetUtilizationRates) *utilization;
        __typeof__(nvmlDeviceGetTemperature) *temperature;
        __typeof__(nvmlDeviceGetPowerUsage) *power;
        __typeof__(nvmlDeviceGetEnforcedPowerLimit) *power_limit;
        __typeof__(nvmlDeviceGetClockInfo) *clock;
        __typeof__(nvmlDeviceGetTotalEccErrors) *ecc;
        __typeof__(nvmlDeviceGetComputeRunningProcesses_v3) *list[SAMPLE_LISTS];
        __typeof__(nvmlDeviceGetProcessUtilization) *shares;
        __typeof__(nvmlEventSetCreate) *event_set_create;
        __typeof__(nvmlEventSetFree) *event_set_free;
        __typeof__(nvmlDeviceRegisterEvents) *event_register;
        __typeof__(nvmlEventSetWait_v2) *event_wait;
};

struct sampler_stamp {
        uint32_t pid;
        uint64_t seen_us; /* time of the last share that was read */
};

struct sampler_card {
        uint8_t uuid[16];
        nvmlDevice_t handle;
        uint64_t seen_us;      /* the oldest of its processes' shares in the last reading */
        uint64_t read_ns;      /* time of that reading, by clock_now_ns() */
        uint64_t forgotten_us; /* the latest time among dropped stamps */
        unsigned stamp_count;
        struct sampler_stamp stamp[SAMPLER_STAMPS]; /* of reported processes, in no order */
        uint64_t ecc_corrected, ecc_uncorrected;
        uint64_t xids;
        uint32_t xid_last;
};

/* Filled by sample_bind(), or zeroed with another table. */
struct sampler {
        struct sample_nvml nvml;
        nvmlEventSet_t events;
        unsigned looks;
        unsigned count;
        struct sampler_card card[SETTINGS_GPUS];
};

enum sample_extent {
        SAMPLE_WHOLE,
        SAMPLE_PROCESSES, /* only memory and process lists, without shares */
};

/* The clock of sample.listed_ns. */
uint64_t sample_now_ns(void);

void sample_bind(void *handle, struct sampler *ret);

/* Call it before cards_stop(). */
void sample_unbind(struct sampler *sampler);

/* Returns -ENOMEM; values that the driver refuses are left out, and counted. */
int sample_take(struct sampler *sampler, const struct cards *cards, enum sample_extent extent,
                struct sample *ret);
/* The process with that pid on a device; NULL: none. */
const struct sample_process *sample_find(const struct sample *sample, uint32_t pid,
                                         unsigned device);
void sample_release(struct sample *sample);

#endif
