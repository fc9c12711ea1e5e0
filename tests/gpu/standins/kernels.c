/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of programs/stamps.ptx for the simulated GPU, and of other programs those whose bytes
 * are looked at. A step takes a nanosecond.
 */
#include "sim/aliquot_sim.h"

#include <string.h>

#define LOG_HEAD 16
#define POLL_NS 10000

struct entry {
        uint64_t begin_ns, end_ns;
        uint32_t sm, result;
};

static uint64_t u64_at(void *const *params, unsigned i)
{
        return *(const uint64_t *)params[i];
}

static void write_entry(const struct aliquot_sim_launch *launch, uint64_t log, struct entry entry)
{
        const struct aliquot_sim_services *card = launch->services;
        uint64_t *head = card->memory(launch, log, LOG_HEAD, 1);
        uint64_t at = head ? __atomic_fetch_add(head, 1, __ATOMIC_RELAXED) : 0;
        struct entry *place;

        if (!head || at >= head[1])
                return;
        place = card->memory(launch, log + LOG_HEAD + at * sizeof(entry), sizeof(entry), 1);
        if (place)
                *place = entry;
}

/* Its first step is done when it has the engine. */
ALIQUOT_SIM_KERNEL(stamped_work, sizeof(uint64_t), sizeof(uint64_t))
{
        const struct aliquot_sim_services *card = launch->services;
        uint64_t steps = u64_at(params, 0);
        struct entry entry = { 0 };

        card->spend_ns(launch, 1);
        entry.begin_ns = card->now_ns(launch) - 1;
        if (steps > 1)
                card->spend_ns(launch, steps - 1);
        entry.end_ns = card->now_ns(launch);
        write_entry(launch, u64_at(params, 1), entry);
}

ALIQUOT_SIM_KERNEL(spin_until, sizeof(uint64_t), sizeof(uint32_t), sizeof(uint64_t))
{
        const struct aliquot_sim_services *card = launch->services;
        uint32_t *word = card->memory(launch, u64_at(params, 0), 2 * sizeof(*word), 1);
        uint64_t begin_ns = card->now_ns(launch);

        while (word && __atomic_load_n(word, __ATOMIC_ACQUIRE) < *(const uint32_t *)params[1]) {
                if (card->now_ns(launch) - begin_ns >= u64_at(params, 2)) {
                        word[1] = 1;
                        return;
                }
                card->spend_ns(launch, POLL_NS);
        }
}

ALIQUOT_SIM_KERNEL(produce, sizeof(uint64_t), sizeof(uint64_t))
{
        uint32_t *word = launch->services->memory(launch, u64_at(params, 0), sizeof(*word), 1);

        launch->services->spend_ns(launch, u64_at(params, 1));
        if (word)
                __atomic_add_fetch(word, 1, __ATOMIC_ACQ_REL);
}

/* Of programs/contracts_swap.py. */
ALIQUOT_SIM_KERNEL(copy_words, sizeof(uint64_t), sizeof(uint64_t), sizeof(uint32_t))
{
        size_t bytes = *(const uint32_t *)params[2] * sizeof(uint32_t);
        const void *from = launch->services->memory(launch, u64_at(params, 1), bytes, 0);
        void *to = launch->services->memory(launch, u64_at(params, 0), bytes, 1);

        if (from && to)
                memmove(to, from, bytes);
}
