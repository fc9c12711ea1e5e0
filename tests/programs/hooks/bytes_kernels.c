/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that fill memory with words which depend on their place, and count those that are not as
 * they were filled.
 */
#include "sim/aliquot_sim.h"

static uint64_t word_at(uint64_t seed, uint64_t at)
{
        uint64_t word = seed * UINT64_C(0x9e3779b97f4a7c15) + at;

        word ^= word >> 29;
        return word * UINT64_C(0xbf58476d1ce4e5b9);
}

/* address, words, seed */
ALIQUOT_SIM_KERNEL(fill, sizeof(uint64_t), sizeof(uint64_t), sizeof(uint64_t))
{
        uint64_t count = *(const uint64_t *)params[1], seed = *(const uint64_t *)params[2];
        uint64_t *word = launch->services->memory(launch, *(const uint64_t *)params[0],
                                                  count * sizeof(*word), 1);

        for (uint64_t i = 0; word && i < count; i++)
                word[i] = word_at(seed, i);
}

/* address, words, seed, where to count */
ALIQUOT_SIM_KERNEL(wrong, sizeof(uint64_t), sizeof(uint64_t), sizeof(uint64_t), sizeof(uint64_t))
{
        uint64_t count = *(const uint64_t *)params[1], seed = *(const uint64_t *)params[2];
        const uint64_t *word = launch->services->memory(launch, *(const uint64_t *)params[0],
                                                        count * sizeof(*word), 0);
        uint64_t *found =
                launch->services->memory(launch, *(const uint64_t *)params[3], sizeof(*found), 1);

        if (!word || !found)
                return;
        *found = 0;
        for (uint64_t i = 0; i < count; i++)
                *found += word[i] != word_at(seed, i);
}
