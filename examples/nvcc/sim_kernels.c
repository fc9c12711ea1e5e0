/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of these programs as host functions, for the simulated GPU: kernels=THIS_MODULE in
 * ALIQUOT_SIM. Each is called once a launch, for the whole grid; sizes are those of the parameters.
 */
#ifdef IN_THE_TREE
#include "sim/aliquot_sim.h"
#else
#include <aliquot/aliquot_sim.h>
#endif

#define POINTER sizeof(uint64_t)

/* vector_add.cu's __constant__. */
__attribute__((visibility("default"))) float scale;

static void *words(const struct aliquot_sim_launch *launch, const void *param, uint32_t count,
                   int is_written)
{
        return launch->services->memory(launch, *(const uint64_t *)param, (uint64_t)count * 4,
                                        is_written);
}

ALIQUOT_SIM_KERNEL(scale_add, POINTER, POINTER, POINTER, sizeof(uint32_t))
{
        uint32_t count = *(const uint32_t *)params[3];
        const float *a = words(launch, params[0], count, 0);
        const float *b = words(launch, params[1], count, 0);
        float *c = words(launch, params[2], count, 1);

        for (uint32_t i = 0; a && b && c && i < count; i++)
                c[i] = scale * a[i] + b[i];
}

ALIQUOT_SIM_KERNEL(fill, POINTER, sizeof(uint32_t), sizeof(uint32_t))
{
        uint32_t value = *(const uint32_t *)params[1], count = *(const uint32_t *)params[2];
        uint32_t *to = words(launch, params[0], count, 1);

        for (uint32_t i = 0; to && i < count; i++)
                to[i] = value;
}

ALIQUOT_SIM_KERNEL(add_one, POINTER, sizeof(uint32_t))
{
        uint32_t count = *(const uint32_t *)params[1];
        uint32_t *data = words(launch, params[0], count, 1);

        for (uint32_t i = 0; data && i < count; i++)
                data[i]++;
}
