/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The internal interface between the files of the simulated NVML.
 *
 * The library reads the node and takes no row in it, because a process that only looks is no
 * process on the GPU. A handle points at a struct gpu: a card of the node, or, if cards are divided
 * (mig=), an instance of one. CUDA_VISIBLE_DEVICES has no effect here.
 *
 * Every function begins with one of the nvml_enter*() calls, which give the common answers:
 * UNINITIALIZED, INVALID_ARGUMENT, GPU_IS_LOST, or what a fail= rule says.
 */
#ifndef ALIQUOT_SIM_NVML_NVML_H
#define ALIQUOT_SIM_NVML_NVML_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)
#include "abi/nvml.h"
#pragma GCC visibility pop

#include "sim/context/device.h"
#include "sim/node/config.h"
#include "sim/node/node.h"

#define NVML_NO_INSTANCE 0xffffffffu
/* The interval over which utilisation is averaged. */
#define NVML_WINDOW_NS 1000000000ULL

/* One card or instance; constant from the first nvmlInit on. */
struct gpu {
        unsigned index;      /* of the card, or of the instance within its card */
        unsigned first_unit; /* its first device of the node; a divided card has several */
        unsigned unit_count;
        bool is_instance;
        bool is_divided;        /* a card whose instances are the devices of the node */
        const struct gpu *card; /* of an instance; itself otherwise */
        unsigned char uuid[16];
};

/* The properties of a model that only NVML shows; see model.c. */
struct nvml_model {
        nvmlBrandType_t brand;
        unsigned architecture;
        uint64_t bar1_bytes;
        unsigned idle_clock_mhz, idle_memory_clock_mhz, video_clock_mhz;
        unsigned shutdown_celsius, slowdown_celsius, gpu_max_celsius, memory_max_celsius;
        nvmlPstates_t idle_state;
        unsigned least_power_limit_mw;
        bool has_row_remapping; /* else single pages are retired */
        bool has_memory_sensor;
        bool can_divide;
        const char *part_number, *vbios, *board_serial;
};

struct nvml_state {
        pthread_mutex_t lock; /* guards user_count, and the making of the rest */
        unsigned user_count;  /* nvmlInit less nvmlShutdown */
        _Atomic bool is_open; /* user_count > 0 */
        const struct sim_config *config;
        struct sim_node *node;
        const struct model_spec *spec;
        const struct nvml_model *model;
        int64_t wall_offset_ns; /* CLOCK_REALTIME less the simulator's clock */
        unsigned card_count;
        unsigned gpu_count; /* cards, then instances */
        struct gpu gpu[2 * SIM_DEVICES];
};

extern struct nvml_state nvml;

const struct nvml_model *nvml_model(enum sim_model model);

/* Checks that NVML is initialised, and applies fail= rules. */
nvmlReturn_t nvml_enter(const char *function);

/* Also checks that `out` is not NULL, the handle is valid and its GPU is not lost. */
nvmlReturn_t nvml_enter_gpu(const char *function, nvmlDevice_t handle, const void *out,
                            const struct gpu **ret_gpu);

/* The same for functions of whole cards: NOT_SUPPORTED for an instance. */
nvmlReturn_t nvml_enter_card(const char *function, nvmlDevice_t handle, const void *out,
                             const struct gpu **ret_gpu);

/* The GPU of a handle; for the second handle of a function. */
nvmlReturn_t nvml_find_gpu(nvmlDevice_t handle, const struct gpu **ret_gpu);

/* A complete function whose answer is the constant `value`. It may be computed from nvml.spec and
 * nvml.model before the first init (they are then of no model, never NULL). */
nvmlReturn_t nvml_give(const char *function, nvmlDevice_t handle, unsigned *ret, unsigned value);

nvmlDevice_t gpu_handle(const struct gpu *gpu);
bool gpu_is_lost(const struct gpu *gpu);
const struct node_device *gpu_device(const struct gpu *gpu);

/* 0 to 100; 0 of nothing. */
unsigned percent_of(uint64_t part, uint64_t whole);

/* Percent of the last window that an engine was busy, 0 to 100. */
unsigned gpu_busy_percent(const struct gpu *gpu, enum engine engine);

unsigned gpu_celsius(const struct gpu *gpu);
unsigned gpu_power_mw(const struct gpu *gpu);
uint64_t gpu_energy_mj(const struct gpu *gpu);

/* Copies a text with its NUL; INSUFFICIENT_SIZE, without writing, if it does not fit. */
nvmlReturn_t text_copy(const char *text, char *ret, unsigned length);

/* Microseconds since 1970, as all of NVML's timestamps, and back. */
uint64_t wall_us(uint64_t now_ns);
uint64_t wall_to_sim_ns(uint64_t timestamp_us);

#endif
