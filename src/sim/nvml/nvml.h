/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The internal interface between the files of the simulated NVML.
 *
 * The library reads the node and takes no row in it, because a process that only calls NVML is no
 * process on the GPU. A handle points to a struct gpu: a card of the node or, if cards are divided
 * (setting mig=), an instance of a card. CUDA_VISIBLE_DEVICES has no effect on NVML.
 *
 * Every function begins with one of the nvml_enter*() calls, which return the common errors:
 * UNINITIALIZED, INVALID_ARGUMENT, GPU_IS_LOST, or the one of a fail= rule.
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

/* One card or instance; constant after the first nvmlInit. */
struct gpu {
        unsigned index;      /* index of the card, or of the instance within its card */
        unsigned first_unit; /* its first unit (device of the node); a divided card has several */
        unsigned unit_count;
        bool is_instance;
        bool is_divided;        /* it is a card whose instances are the devices of the node */
        const struct gpu *card; /* the card of an instance; a card points to itself */
        unsigned char uuid[16];
};

/* Properties of a model that only NVML reports; see model.c. */
struct nvml_model {
        nvmlBrandType_t brand;
        unsigned architecture;
        uint64_t bar1_bytes;
        unsigned idle_clock_mhz, idle_memory_clock_mhz, video_clock_mhz;
        unsigned shutdown_celsius, slowdown_celsius, gpu_max_celsius, memory_max_celsius;
        nvmlPstates_t idle_state;
        unsigned min_power_limit_mw;
        bool has_row_remapping; /* false: single pages are retired instead */
        bool has_memory_sensor;
        bool can_divide;
        const char *part_number, *vbios, *board_serial;
};

struct nvml_state {
        pthread_mutex_t lock; /* guards user_count, and the other fields while they are set */
        unsigned user_count;  /* number of nvmlInit calls minus nvmlShutdown calls */
        _Atomic bool is_open; /* whether user_count is above 0 */
        const struct sim_config *config;
        struct sim_node *node;
        const struct model_spec *spec;
        const struct nvml_model *model;
        int64_t wall_offset_ns; /* CLOCK_REALTIME minus the simulator's clock */
        unsigned card_count;
        unsigned gpu_count; /* entries in `gpu`: first the cards, then the instances */
        struct gpu gpu[2 * SIM_DEVICES];
};

extern struct nvml_state nvml;

const struct nvml_model *nvml_model(enum sim_model model);

/* Checks that NVML is initialised, and applies the fail= rules. */
nvmlReturn_t nvml_enter(const char *function);

/* Like nvml_enter(). Also checks that `out` is not NULL, the handle is valid and its GPU is not
 * lost. */
nvmlReturn_t nvml_enter_gpu(const char *function, nvmlDevice_t handle, const void *out,
                            const struct gpu **ret_gpu);

/* Like nvml_enter_gpu(), for functions of whole cards: NOT_SUPPORTED for an instance. */
nvmlReturn_t nvml_enter_card(const char *function, nvmlDevice_t handle, const void *out,
                             const struct gpu **ret_gpu);

/* Returns the GPU of a handle; for functions with a second handle. */
nvmlReturn_t nvml_find_gpu(nvmlDevice_t handle, const struct gpu **ret_gpu);

/* Implements a function that returns the constant `value`. The caller may compute it from nvml.spec
 * and nvml.model even before the first nvmlInit, when they are those of no model but never NULL. */
nvmlReturn_t nvml_give(const char *function, nvmlDevice_t handle, unsigned *ret, unsigned value);

nvmlDevice_t gpu_handle(const struct gpu *gpu);
bool gpu_is_lost(const struct gpu *gpu);
const struct node_device *gpu_device(const struct gpu *gpu);

/* Returns `part` of `whole` as 0 to 100; 0 if `whole` is 0. */
unsigned percent_of(uint64_t part, uint64_t whole);

/* Returns the percentage of the last window in which an engine was busy, 0 to 100. */
unsigned gpu_busy_percent(const struct gpu *gpu, enum engine engine);

unsigned gpu_celsius(const struct gpu *gpu);
unsigned gpu_power_mw(const struct gpu *gpu);
uint64_t gpu_energy_mj(const struct gpu *gpu);

/* Copies a text with its NUL. INSUFFICIENT_SIZE, and nothing is written, if it does not fit. */
nvmlReturn_t text_copy(const char *text, char *ret, unsigned length);

/* Convert the simulator's time to microseconds since 1970, which all of NVML's timestamps are, and
 * back. */
uint64_t wall_us(uint64_t now_ns);
uint64_t wall_to_sim_ns(uint64_t timestamp_us);

#endif
