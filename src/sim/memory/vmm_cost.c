/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time that VMM calls take their callers; docs/simulator-costs.md has the figures.
 *
 * A successful call takes its own time, and more for each 2 MiB after the first. `vmm_lock` percent
 * of that time pass under a lock of the driver, which serves one call of the node at a time, in the
 * order of arrival. The lock is modelled as the time at which it is free again. A caller moves that
 * time forward and sleeps until then, so a process that dies delays others no longer than its call
 * would have.
 */
#include "sim/memory/vmm.h"

#include "common/atomic.h"
#include "common/minmax.h"
#include "sim/node/clock.h"
#include "sim/node/config.h"

static void lock_spend(_Atomic uint64_t *free_ns, uint64_t ns)
{
        uint64_t now_ns = sim_now_ns(), seen = load_acquire(free_ns), end_ns;

        do
                end_ns = max_u64(seen, now_ns) + ns;
        while (!cas_acq_rel(free_ns, &seen, end_ns));
        sim_sleep_until(end_ns);
}

void vmm_spend(enum vmm_call call, uint64_t bytes)
{
        const struct sim_config *config = config_get();
        const struct vmm_cost *cost = &config->vmm[call];
        uint64_t pages = bytes / VMM_GRANULARITY;
        uint64_t ns = cost->call_ns + (pages ? pages - 1 : 0) * cost->page_ns;
        uint64_t locked_ns = (uint64_t)((double)ns * (double)config->vmm_lock_percent / 100);

        if (locked_ns)
                lock_spend(&node_get()->vmm_free_ns, locked_ns);
        sim_spend(ns - locked_ns);
}
