/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that depend on each other while they run.
 */
#include "sim/aliquot_sim.h"

#define STEP_NS 10000

/* Runs until the word is what it waits for. */
ALIQUOT_SIM_KERNEL(spin_until, sizeof(uint64_t), sizeof(uint32_t))
{
        const volatile uint32_t *word =
                launch->services->memory(launch, *(const uint64_t *)params[0], sizeof(*word), 0);
        uint32_t wanted = *(const uint32_t *)params[1];

        while (word && __atomic_load_n(word, __ATOMIC_ACQUIRE) < wanted)
                launch->services->spend_ns(launch, STEP_NS);
}

/* One more. */
ALIQUOT_SIM_KERNEL(produce, sizeof(uint64_t))
{
        uint32_t *word =
                launch->services->memory(launch, *(const uint64_t *)params[0], sizeof(*word), 1);

        if (word)
                __atomic_add_fetch(word, 1, __ATOMIC_ACQ_REL);
        launch->services->spend_ns(launch, STEP_NS);
}
