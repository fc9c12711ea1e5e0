/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues containers that wait for room on a full card (profiles.wait).
 *
 * A waiting container keeps no connection: the daemon tells it when to retry, and for how long. A
 * container that does not retry within LOST_NS leaves the queue. Of the containers that wait for
 * one GPU only the first is served, so a large share gets room even if there are always requests
 * for small ones.
 */
#include <stdlib.h>
#include <string.h>

#include "common/machine_clock.h"
#include "common/minmax.h"
#include "daemon/tenant/tenant_parts.h"

#define RETRY_MS 250u
#define LOST_NS UINT64_C(3000000000)
#define WAITERS_MAX 1024u
#define MS_NS UINT64_C(1000000)

static void remove_waiter(struct tenants *tenants, struct tenant_waiter *waiter)
{
        TAILQ_REMOVE(&tenants->waiters, waiter, entry);
        tenants->waiter_count--;
        free(waiter);
}

static void drop_lost(struct tenants *tenants)
{
        const uint64_t now_ns = clock_machine_ns();
        struct tenant_waiter *waiter = TAILQ_FIRST(&tenants->waiters);

        while (waiter) {
                struct tenant_waiter *next = TAILQ_NEXT(waiter, entry);

                if (now_ns - waiter->seen_ns > LOST_NS)
                        remove_waiter(tenants, waiter);
                waiter = next;
        }
}

static struct tenant_waiter *find_waiter(const struct tenants *tenants,
                                         const struct sessions_one *wanted)
{
        struct tenant_waiter *waiter;

        TAILQ_FOREACH(waiter, &tenants->waiters, entry)
        {
                /* cppcheck-suppress uninitvar ; TAILQ_FOREACH sets it */
                if (waiter->of.inode == wanted->container.inode &&
                    strcmp(waiter->of.profile, wanted->container.profile) == 0 &&
                    strcmp(waiter->of.id, wanted->container.id) == 0)
                        break;
        }
        /* cppcheck-suppress uninitvar ; NULL if the loop has ended */
        return waiter;
}

bool tenant_waits_behind(struct tenants *tenants, const struct sessions_one *wanted)
{
        const struct tenant_waiter *own, *waiter;

        drop_lost(tenants);
        own = find_waiter(tenants, wanted);
        TAILQ_FOREACH(waiter, &tenants->waiters, entry)
        {
                /* cppcheck-suppress uninitvar ; TAILQ_FOREACH sets it */
                if (waiter == own)
                        return false;
                if (memcmp(waiter->uuid, wanted->share[0].uuid, sizeof(waiter->uuid)) == 0)
                        return true;
        }
        return false;
}

static struct tenant_waiter *add_waiter(struct tenants *tenants, const struct sessions_one *wanted)
{
        struct tenant_waiter *waiter =
                tenants->waiter_count < WAITERS_MAX ? calloc(1, sizeof(*waiter)) : NULL;

        if (!waiter)
                return NULL;
        waiter->of = wanted->container;
        memcpy(waiter->uuid, wanted->share[0].uuid, sizeof(waiter->uuid));
        waiter->first_ns = clock_machine_ns();
        TAILQ_INSERT_TAIL(&tenants->waiters, waiter, entry);
        tenants->waiter_count++;
        return waiter;
}

bool tenant_wait(struct tenants *tenants, const struct sessions_one *wanted,
                 struct tenant_refusal *ret)
{
        const uint64_t max_ns = tenants->options.config->profiles_wait_ns;
        struct tenant_waiter *waiter = find_waiter(tenants, wanted);
        uint64_t waited_ns;

        if (!waiter && max_ns)
                waiter = add_waiter(tenants, wanted);
        if (!waiter)
                return false;
        waiter->seen_ns = clock_machine_ns();
        waited_ns = waiter->seen_ns - waiter->first_ns;
        if (waited_ns >= max_ns) {
                remove_waiter(tenants, waiter);
                return false;
        }
        ret->retry_ms = RETRY_MS;
        ret->wait_ms = (uint32_t)min_u64((max_ns - waited_ns) / MS_NS + 1, UINT32_MAX);
        return true;
}

void tenant_wait_end(struct tenants *tenants, const struct sessions_one *wanted)
{
        struct tenant_waiter *waiter = find_waiter(tenants, wanted);

        if (waiter)
                remove_waiter(tenants, waiter);
}

void tenant_wait_stop(struct tenants *tenants)
{
        struct tenant_waiter *waiter = TAILQ_FIRST(&tenants->waiters), *next;

        for (; waiter; waiter = next) {
                next = TAILQ_NEXT(waiter, entry);
                remove_waiter(tenants, waiter);
        }
}
