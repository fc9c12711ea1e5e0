/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An example of a module for the simulated GPU: kernels with parameters of several sizes, a global,
 * one that spends device time and one that goes wrong.
 */
#include "sim/aliquot_sim.h"

/* A module's globals are its variables with default visibility. */
__attribute__((visibility("default"))) float bias[4] = { 1, 2, 3, 4 };

static const float *floats(const struct aliquot_sim_launch *launch, uint64_t address,
                           uint64_t count)
{
        return launch->services->memory(launch, address, count * sizeof(float), 0);
}

/* y[i] = a * x[i] + y[i] + bias[i % 4] */
ALIQUOT_SIM_KERNEL(saxpy, sizeof(uint32_t), sizeof(float), sizeof(uint64_t), sizeof(uint64_t))
{
        uint32_t count = *(const uint32_t *)params[0];
        float a = *(const float *)params[1];
        uint64_t y_address = *(const uint64_t *)params[3];
        const float *x = floats(launch, *(const uint64_t *)params[2], count);
        float *y = launch->services->memory(launch, y_address, count * sizeof(float), 1);

        if (!x || !y)
                return;
        for (uint32_t i = 0; i < count; i++)
                y[i] += a * x[i] + bias[i % 4];
        launch->services->spend_ns(launch, 1000);
}

/* Writes what it was launched with: grid, block, shared bytes, cooperative, device. */
ALIQUOT_SIM_KERNEL(show_shape, sizeof(uint64_t))
{
        uint32_t *to = launch->services->memory(launch, *(const uint64_t *)params[0],
                                                9 * sizeof(uint32_t), 1);

        if (!to)
                return;
        for (int i = 0; i < 3; i++) {
                to[i] = launch->grid[i];
                to[3 + i] = launch->block[i];
        }
        to[6] = launch->shared_bytes;
        to[7] = launch->is_cooperative;
        to[8] = (uint32_t)launch->device;
}

/* Spends device time in many small pieces, as a loop over tiles would. */
ALIQUOT_SIM_KERNEL(spend_pieces, sizeof(uint32_t), sizeof(uint64_t))
{
        uint32_t pieces = *(const uint32_t *)params[0];

        for (uint32_t i = 0; i < pieces; i++)
                launch->services->spend_ns(launch, *(const uint64_t *)params[1]);
}

ALIQUOT_SIM_KERNEL(fail_assert)
{
        (void)params;
        launch->services->fail(launch, 710);
}
