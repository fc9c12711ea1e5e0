/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The default values of keys: a constant, a value of the model, a cost, or a rule for grants.
 *
 * A cost is 0 by default. With costs=real it is the cost of a real driver, as measured or published
 * by others; docs/simulator-costs.md has the source of each figure, or says that it is assumed. A
 * rule for grants is the simple one by default, and that of a real driver with grants=real;
 * docs/simulator-memory.md has the sources. None of the values was derived from how Aliquot works.
 */
#include <stdio.h>
#include <unistd.h>

#include "common/minmax.h"
#include "sim/context/device.h"
#include "sim/node/config.h"

static const struct sim_config defaults = {
        .device_count = 1,
        .model = MODEL_T4,
        .memory_bytes = CONFIG_UNSET,
        .seed = 1,
        .driver_version = CONFIG_DRIVER_VERSION,
        .context_bytes = CONFIG_UNSET,
        .reserved_bytes = CONFIG_UNSET,
        .pool_growth_bytes = 32ULL << 20,
        .drain_ns = 50000000,
        .vmm_ns = CONFIG_UNSET,
        .slice_ns = 2000000,
        .host_rate = CONFIG_UNSET,
        .pageable_rate = CONFIG_UNSET,
        .peer_rate = CONFIG_UNSET,
        .device_rate = CONFIG_UNSET,
        .ptx_ns = 10000,
        .begin_with = 1,
};

/* Returns the default memory of a context: at most 1/64 of the card, so that the first context does
 * not fill a small card made for a test. */
static uint64_t context_default(const struct sim_config *config, const struct model_spec *spec)
{
        uint64_t most = config->memory_bytes / (config->mig ? config->mig : 1) / 64;
        uint64_t usual = config->has_real_grants ? spec->real_context_bytes : spec->context_bytes;

        return min_u64(usual, most);
}

static void model_complete(struct sim_config *config)
{
        const struct model_spec *spec = model_spec(config->model);

        if (config->memory_bytes == CONFIG_UNSET)
                config->memory_bytes =
                        config->has_real_grants ? spec->real_memory_bytes : spec->memory_bytes;
        if (config->context_bytes == CONFIG_UNSET)
                config->context_bytes = context_default(config, spec);
        if (config->host_rate == CONFIG_UNSET)
                config->host_rate = spec->host_rate;
        if (config->pageable_rate == CONFIG_UNSET)
                config->pageable_rate = spec->pageable_rate;
        if (config->peer_rate == CONFIG_UNSET)
                config->peer_rate = spec->peer_rate;
        if (config->device_rate == CONFIG_UNSET)
                config->device_rate = spec->device_rate;
}

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define MIB (UINT64_C(1) << 20)
#define FIELD(member) offsetof(struct sim_config, member)

static const struct cost {
        size_t offset; /* offset of a uint64_t in struct sim_config */
        uint64_t usual, real;
} costs[] = {
        { FIELD(launch_ns), 0, 3 * US },
        { FIELD(graph_launch_ns), 0, 3 * US },
        { FIELD(event_record_ns), 0, 2 * US },
        { FIELD(event_query_ns), 0, 1 * US },
        { FIELD(event_elapsed_ns), 0, 1 * US },
        { FIELD(stream_query_ns), 0, 1 * US },
        { FIELD(stream_context_ns), 0, 100 },
        { FIELD(capture_query_ns), 0, 100 },
        { FIELD(process_list_ns), 0, 20 * US },
        { FIELD(event_ns), 0, 2 * US },
        { FIELD(event_step_ns), 0, 32 },
        { FIELD(switch_ns), 0, 137 * US },
        { FIELD(vmm[VMM_CREATE].call_ns), 0, 193 * US },
        { FIELD(vmm[VMM_CREATE].page_ns), 0, 3 * US },
        { FIELD(vmm[VMM_MAP].call_ns), 0, 1450 },
        { FIELD(vmm[VMM_MAP].page_ns), 0, 0 },
        { FIELD(vmm[VMM_ACCESS].call_ns), 0, 36 * US },
        { FIELD(vmm[VMM_ACCESS].page_ns), 0, 3 * US },
        { FIELD(vmm[VMM_UNMAP].call_ns), 0, 25600 },
        { FIELD(vmm[VMM_UNMAP].page_ns), 0, 3 * US },
        { FIELD(vmm[VMM_RELEASE].call_ns), 0, 25600 },
        { FIELD(vmm[VMM_RELEASE].page_ns), 0, 3 * US },
        { FIELD(vmm[VMM_RESERVE].call_ns), 0, 19 * US },
        { FIELD(vmm[VMM_RESERVE].page_ns), 0, 0 },
        { FIELD(vmm_lock_percent), 0, 50 },
        { FIELD(duplex_percent), 200, 144 },
        { FIELD(pin_rate), 0, 2048 * MIB },
        /* These are settings, not costs. */
        { FIELD(is_current_needed), false, true },
        { FIELD(is_ended_fatal), false, true },
        { FIELD(queues), 0, 8 },
        { FIELD(sample_ns), 50 * MS, 1000 * MS },
        { FIELD(utilization_ns), 0, 1000 * MS },
};

/* Rules for grants. `since`: the first CUDA version of the driver that has the rule `real` (earlier
 * ones have `before`); 0: all versions. */
static const struct rule {
        size_t offset; /* offset of a uint64_t in struct sim_config */
        uint64_t plain, real;
        int since;
        uint64_t before;
} rules[] = {
        { FIELD(grants.slab_bytes), 0, 2 * MIB, 0, 0 },
        { FIELD(grants.slab_max_bytes), 0, 1 * MIB, 0, 0 },
        { FIELD(grants.block_step), 0, 2 * MIB, 0, 0 },
        { FIELD(grants.array_step), UINT64_C(64) << 10, 2 * MIB, 0, 0 },
        { FIELD(grants.has_no_array_requirements), false, true, 0, 0 },
        { FIELD(grants.has_loadable_only), false, true, 0, 0 },
        { FIELD(grants.code_within_bytes), 0, UINT64_C(4) << 10, 0, 0 },
        { FIELD(grants.is_lazy), true, true, 12020, false },
        { FIELD(grants.has_stacks), false, true, 0, 0 },
        { FIELD(grants.is_heap_lazy), false, true, 0, 0 },
        { FIELD(grants.graphs_bytes), 0, 2 * MIB, 0, 0 },
        { FIELD(grants.pools_bytes), 0, 2 * MIB, 0, 0 },
        { FIELD(grants.green_bytes), 0, 4 * MIB, 0, 0 },
        { FIELD(grants.is_managed_lazy), false, true, 0, 0 },
        { FIELD(grants.are_graphs_sharing), true, true, 0, 0 },
};

#define RULES (sizeof(rules) / sizeof(rules[0]))
#define COSTS (sizeof(costs) / sizeof(costs[0]))

static uint64_t *cost_in(struct sim_config *config, size_t index)
{
        return (uint64_t *)((char *)config + costs[index].offset);
}

static uint64_t *rule_in(struct sim_config *config, size_t index)
{
        return (uint64_t *)((char *)config + rules[index].offset);
}

/* Returns the default of reserved_bytes: at most 1/64 of the card, so that half of a small card
 * made for a test does not appear to be in use. */
static uint64_t reserved_real(const struct sim_config *config)
{
        const struct model_spec *spec = model_spec(config->model);
        const uint64_t most = config->memory_bytes / 64;

        if (!config->has_real_grants)
                return min_u64(448 * MIB, most);
        return config->memory_bytes == spec->real_memory_bytes
                       ? spec->real_reserved_bytes
                       : min_u64(spec->real_reserved_bytes, most);
}

static void rules_complete(struct sim_config *config)
{
        for (size_t i = 0; i < RULES; i++) {
                bool is_old = config->driver_version < rules[i].since;
                uint64_t *rule = rule_in(config, i);

                if (*rule != CONFIG_UNSET)
                        continue;
                if (!config->has_real_grants)
                        *rule = rules[i].plain;
                else
                        *rule = is_old ? rules[i].before : rules[i].real;
        }
}

/* Gives each VMM call without a key of its own the cost vmm=. */
static void vmm_complete(struct sim_config *config)
{
        for (unsigned call = 0; call < VMM_CALLS && config->vmm_ns != CONFIG_UNSET; call++) {
                struct vmm_cost *cost = &config->vmm[call];

                if (cost->call_ns == CONFIG_UNSET)
                        cost->call_ns = config->vmm_ns;
                if (cost->page_ns == CONFIG_UNSET)
                        cost->page_ns = 0;
        }
}

static void costs_complete(struct sim_config *config)
{
        vmm_complete(config);
        for (size_t i = 0; i < COSTS; i++) {
                uint64_t *cost = cost_in(config, i);

                if (*cost == CONFIG_UNSET)
                        *cost = config->has_real_costs ? costs[i].real : costs[i].usual;
        }
        if (config->reserved_bytes == CONFIG_UNSET)
                config->reserved_bytes = config->has_real_costs || config->has_real_grants
                                                 ? reserved_real(config)
                                                 : 0;
}

void config_begin(struct sim_config *ret)
{
        *ret = defaults;
        for (size_t i = 0; i < COSTS; i++)
                *cost_in(ret, i) = CONFIG_UNSET;
        for (size_t i = 0; i < RULES; i++)
                *rule_in(ret, i) = CONFIG_UNSET;
        snprintf(ret->state_dir, sizeof(ret->state_dir), "/dev/shm/aliquot-sim-%u",
                 (unsigned)getuid());
}

void config_complete(struct sim_config *config)
{
        model_complete(config);
        costs_complete(config);
        rules_complete(config);
}
