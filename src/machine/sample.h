/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the state of all GPUs from the driver's NVML once: memory, utilisation, temperature,
 * processes.
 *
 *      cards_start(handle, path, &err)                 see cards.h
 *      sample_bind(handle, &sampler)                   the same handle
 *      sample_take(&sampler, &cards, SAMPLE_WHOLE, &sample)
 *      sample_release(&sample)
 *
 * A value that the GPU, driver or instance does not report is SAMPLE_NONE or -1, never 0. The
 * devices of a sample are those of `cards`, in their order. A card that is split into MIG instances
 * has no processes of its own; they are listed with its instances. Processes are sorted by pid. A
 * process that is in several of the driver's lists appears once per GPU. The driver reports pids of
 * the caller's PID namespace.
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
/* stamps per card; with more processes the oldest stamps are dropped */
#define SAMPLER_STAMPS 256u

/* Bits of sample_process.kinds: which of the driver's lists contain the process. */
enum sample_kind { SAMPLE_COMPUTE = 1, SAMPLE_GRAPHICS = 2, SAMPLE_MPS = 4 };

/* A process on a GPU. */
struct sample_process {
        uint32_t pid;
        uint8_t device;         /* index of the GPU in sample.device */
        uint8_t kinds;          /* enum sample_kind */
        int16_t busy_percent;   /* part of the GPU's time since the last sample; -1: not reported */
        int16_t memory_percent; /* part of that time with memory accesses; -1: not reported */
        /* GPU time since the last sample, at least; 0 if the device has no has_shares */
        uint64_t busy_ns;
        uint64_t bytes; /* memory of the process; SAMPLE_NONE: not reported */
};

/* A GPU or MIG instance. */
struct sample_device {
        uint8_t uuid[16];
        bool is_instance;
        bool has_processes; /* the driver listed its processes, of which there may be none */
        bool has_shares;    /* the driver also reported their utilisation since an earlier sample */
        int busy_percent, memory_percent;
        int celsius;
        int sm_mhz, memory_mhz;
        int64_t power_mw, power_limit_mw; /* -1: not reported */
        uint64_t total_bytes, used_bytes, free_bytes;
        /* reserved by the driver and not part of used_bytes; SAMPLE_NONE: unknown, may be part
         * of it */
        uint64_t reserved_bytes;
        uint64_t ecc_corrected, ecc_uncorrected; /* errors since the driver was loaded */
        uint64_t xids;                           /* number of critical errors since sample_bind() */
        /* code of the latest critical error, if xids > 0 */
        uint32_t xid_last;
};

/* One reading of all GPUs. */
struct sample {
        uint64_t listed_ns; /* CLOCK_BOOTTIME, read before the processes were listed */
        /* failed calls of NVML, except those that this machine does not support */
        uint64_t failures;
        unsigned device_count;
        struct sample_device device[SETTINGS_GPUS];
        unsigned process_count, process_room;
        struct sample_process *process; /* owned */
};

/* NVML's functions; NULL: this driver lacks the function. */
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

/* When a process's utilisation was last reported. */
struct sampler_stamp {
        uint32_t pid;
        uint64_t seen_us; /* the driver's time of the last report that was read */
};

/* What is known of a GPU from earlier samples. */
struct sampler_card {
        uint8_t uuid[16];
        nvmlDevice_t handle;
        /* the oldest time among the processes' reports of the last reading; the next reading
         * requests reports since then */
        uint64_t seen_us;
        uint64_t read_ns;      /* time of the last reading of reports, by clock_now_ns() */
        uint64_t forgotten_us; /* the latest seen_us among dropped stamps */
        unsigned stamp_count;
        /* one stamp per reported process, in no order */
        struct sampler_stamp stamp[SAMPLER_STAMPS];
        uint64_t ecc_corrected, ecc_uncorrected;
        uint64_t xids;
        uint32_t xid_last;
};

/* The functions and state of a sampler. sample_bind() fills it; tests zero it and set functions of
 * their own. */
struct sampler {
        struct sample_nvml nvml;
        nvmlEventSet_t events;
        unsigned looks; /* samples taken so far */
        unsigned count;
        struct sampler_card card[SETTINGS_GPUS];
};

/* How much of a sample to take. */
enum sample_extent {
        SAMPLE_WHOLE,
        SAMPLE_PROCESSES, /* memory and process lists, without utilisation of processes */
};

/* Returns the time by the clock of sample.listed_ns. */
uint64_t sample_now_ns(void);

/* Finds NVML's functions in the library `handle`, the result of dlopen(). */
void sample_bind(void *handle, struct sampler *ret);

/* Frees what the sampler holds of NVML; call it before cards_stop(). */
void sample_unbind(struct sampler *sampler);

/* Takes a sample. Values that the driver refuses are left out, and failed calls are counted. 0,
 * or -ENOMEM. */
int sample_take(struct sampler *sampler, const struct cards *cards, enum sample_extent extent,
                struct sample *ret);
/* Returns the process `pid` on a device; NULL: there is none. */
const struct sample_process *sample_find(const struct sample *sample, uint32_t pid,
                                         unsigned device);
void sample_release(struct sample *sample);

#endif
