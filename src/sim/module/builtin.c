/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of the image "aliquot-sim builtin", written like any other kernel, and the no-op that
 * replaces PTX kernels. All but spin_ns take the time that the device's memory would need.
 */
#include "common/minmax.h"
#include "sim/module/module.h"
#include "sim/node/config.h"

#include <string.h>

/* Time of the smallest kernel on hardware. */
#define FLOOR_NS 2000

static uint64_t u64_at(void *const *params, unsigned i)
{
        uint64_t value;

        memcpy(&value, params[i], sizeof(value));
        return value;
}

static void spend_traffic(const struct aliquot_sim_launch *launch, uint64_t bytes)
{
        uint64_t rate = config_get()->device_rate;
        uint64_t ns = rate ? (uint64_t)((double)bytes * 1e9 / (double)rate) : 0;

        launch->services->spend_ns(launch, max_u64(ns, FLOOR_NS));
}

static uint32_t *words(const struct aliquot_sim_launch *launch, uint64_t address, uint64_t count,
                       int is_written)
{
        return launch->services->memory(launch, address, count * sizeof(uint32_t), is_written);
}

static void spin_ns(const struct aliquot_sim_launch *launch, void *const *params)
{
        launch->services->spend_ns(launch, u64_at(params, 0));
}

bool builtin_is_spin(kernel_entry entry)
{
        return entry == spin_ns;
}

static void fill_u32(const struct aliquot_sim_launch *launch, void *const *params)
{
        uint64_t count = u64_at(params, 2);
        uint32_t *to = words(launch, u64_at(params, 0), count, 1);
        uint32_t value;

        memcpy(&value, params[1], sizeof(value));
        for (uint64_t i = 0; to && i < count; i++)
                to[i] = value;
        spend_traffic(launch, count * 4);
}

static void add_u32(const struct aliquot_sim_launch *launch, void *const *params)
{
        uint64_t count = u64_at(params, 3);
        uint32_t *to = words(launch, u64_at(params, 0), count, 1);
        uint32_t *a = words(launch, u64_at(params, 1), count, 0);
        uint32_t *b = words(launch, u64_at(params, 2), count, 0);

        for (uint64_t i = 0; to && a && b && i < count; i++)
                to[i] = a[i] + b[i];
        spend_traffic(launch, count * 12);
}

static void copy_u32(const struct aliquot_sim_launch *launch, void *const *params)
{
        uint64_t count = u64_at(params, 2);
        uint32_t *to = words(launch, u64_at(params, 0), count, 1);
        uint32_t *from = words(launch, u64_at(params, 1), count, 0);

        if (to && from)
                memmove(to, from, count * sizeof(*to));
        spend_traffic(launch, count * 8);
}

static void checksum_u32(const struct aliquot_sim_launch *launch, void *const *params)
{
        uint64_t count = u64_at(params, 1);
        uint32_t *from = words(launch, u64_at(params, 0), count, 0);
        uint64_t *to = launch->services->memory(launch, u64_at(params, 2), sizeof(*to), 1);
        uint64_t sum = 0;

        for (uint64_t i = 0; from && i < count; i++)
                sum += from[i];
        if (from && to)
                *to = sum;
        spend_traffic(launch, count * 4);
}

static void noop(const struct aliquot_sim_launch *launch, void *const *params)
{
        launch->services->spend_ns(launch, config_get()->ptx_ns);
}

const kernel_entry builtin_noop = noop;

#define BUILTIN 5

static const struct {
        const char *name;
        kernel_entry entry;
} builtin[BUILTIN] = {
        { "spin_ns", spin_ns },   { "fill_u32", fill_u32 },         { "add_u32", add_u32 },
        { "copy_u32", copy_u32 }, { "checksum_u32", checksum_u32 },
};

kernel_entry builtin_entry(const char *name)
{
        for (unsigned i = 0; i < BUILTIN; i++)
                if (strcmp(builtin[i].name, name) == 0)
                        return builtin[i].entry;
        return NULL;
}

bool builtin_is(kernel_entry entry)
{
        for (unsigned i = 0; i < BUILTIN; i++)
                if (builtin[i].entry == entry)
                        return true;
        return false;
}
