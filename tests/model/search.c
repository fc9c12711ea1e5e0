/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Visits every state of a model, breadth first, so that the trace to a bad one is a shortest.
 *
 * States lie one after the other in the order found; a table of their numbers, open addressing,
 * tells which are known. They are kept whole: no state is taken for another by its hash.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "model.h"

struct search {
        const struct config *config;
        unsigned bytes;
        uint64_t count, max, table_mask;
        uint8_t *states;
        uint32_t *parents;
        uint32_t *table; /* number + 1; 0 free */
        uint64_t transitions;
};

static void *memory(uint64_t bytes)
{
        void *got = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (got == MAP_FAILED) {
                perror("mmap");
                exit(2);
        }
        return got;
}

static uint64_t hash_of(const uint8_t *state, unsigned bytes)
{
        uint64_t hash = 0;

        for (unsigned i = 0; i < bytes; i += 8) {
                uint64_t word;

                memcpy(&word, state + i, 8);
                hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
                hash ^= hash >> 29;
        }
        return hash ^ hash >> 32;
}

/* False: there is no room for more. */
static bool state_add(struct search *search, const uint8_t *state, uint64_t parent)
{
        uint64_t at = hash_of(state, search->bytes) & search->table_mask;

        for (; search->table[at]; at = (at + 1) & search->table_mask) {
                const uint8_t *known =
                        search->states + (uint64_t)(search->table[at] - 1) * search->bytes;

                if (memcmp(known, state, search->bytes) == 0)
                        return true;
        }
        if (search->count == search->max)
                return false;
        memcpy(search->states + search->count * search->bytes, state, search->bytes);
        search->parents[search->count] = (uint32_t)parent;
        search->table[at] = (uint32_t)++search->count;
        return true;
}

static void print_state(const struct search *search, const uint8_t *packed)
{
        struct model model;

        model_unpack(&model, search->config, packed);
        model_print(&model, search->config);
}

static void print_trace(const struct search *search, uint64_t number, const struct model *bad,
                        const char *broken)
{
        uint64_t path[1024];
        unsigned length = 0;

        for (; number != 0 && length < 1024; number = search->parents[number])
                path[length++] = number;
        while (length > 0)
                print_state(search, search->states + path[--length] * search->bytes);
        model_print(bad, search->config);
        fprintf(stderr, "%s: %s\n", search->config->name, broken);
}

static const char *visit(struct search *search, uint64_t number, bool is_loud)
{
        const uint8_t *packed = search->states + number * search->bytes;
        struct action actions[MAX_ACTIONS];
        uint8_t next[256];
        struct model model;
        const char *broken;

        if (search->config->solo_of && number % search->config->solo_of == 0) {
                broken = model_run_alone(&model, search->config, packed);
                if (broken && is_loud)
                        print_trace(search, number, &model, broken);
                if (broken)
                        return broken;
        }
        model_unpack(&model, search->config, packed);
        unsigned count = model_actions(&model, search->config, actions);

        for (unsigned i = 0; i < count; i++) {
                model_unpack(&model, search->config, packed);
                broken = model_do(&model, search->config, actions[i]);
                if (broken && is_loud)
                        print_trace(search, number, &model, broken);
                if (broken)
                        return broken;
                model_pack(&model, search->config, next);
                search->transitions++;
                if (!state_add(search, next, number))
                        return "more states than there is room for";
        }
        return NULL;
}

struct outcome search(const struct config *config, uint64_t max_states, bool is_loud)
{
        struct search search = {
                .config = config, .bytes = model_bytes(config), .max = max_states, .table_mask = 1
        };
        struct outcome outcome = { 0 };
        struct model model;
        uint8_t first[256];

        while (search.table_mask < max_states + max_states / 2)
                search.table_mask *= 2;
        search.states = memory(search.bytes * max_states);
        search.parents = memory(sizeof(uint32_t) * max_states);
        search.table = memory(sizeof(uint32_t) * search.table_mask--);

        model_start(&model, config);
        model_pack(&model, config, first);
        state_add(&search, first, 0);
        for (uint64_t i = 0; i < search.count && !outcome.broken; i++)
                outcome.broken = visit(&search, i, is_loud);

        outcome.states = search.count;
        outcome.transitions = search.transitions;
        munmap(search.states, search.bytes * max_states);
        munmap(search.parents, sizeof(uint32_t) * max_states);
        munmap(search.table, sizeof(uint32_t) * (search.table_mask + 1));
        return outcome;
}
