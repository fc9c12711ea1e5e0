/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reserve of a pool or of a device's graphs: grows in steps, and shrinks on request.
 *
 * If a step does not fit on the device, a smaller one is tried, in multiples of the driver's
 * smallest unit, 2 MiB.
 */
#include "sim/memory/pool.h"
#include "sim/node/config.h"

#define UNIT_BYTES (2ULL << 20)

static uint64_t round_up(uint64_t value, uint64_t to)
{
        return (value + to - 1) / to * to;
}

bool reserve_grow(struct reserve *reserve, uint64_t wanted_bytes)
{
        uint64_t steps[] = { config_get()->pool_growth_bytes, UNIT_BYTES };

        if (wanted_bytes <= reserve->reserved_bytes)
                return true;
        for (unsigned i = 0; i < 2; i++) {
                uint64_t grown = round_up(wanted_bytes - reserve->reserved_bytes, steps[i]);

                if (node_grant(reserve->unit, reserve->family, grown) != GRANT_OK)
                        continue;
                reserve->reserved_bytes += grown;
                reserve->growths++;
                if (reserve->reserved_bytes > reserve->reserved_high_bytes)
                        reserve->reserved_high_bytes = reserve->reserved_bytes;
                return true;
        }
        return false;
}

void reserve_trim(struct reserve *reserve, uint64_t keep_bytes)
{
        uint64_t kept = keep_bytes > reserve->used_bytes ? keep_bytes : reserve->used_bytes;

        kept = kept > UINT64_MAX / 2 ? kept : round_up(kept, config_get()->pool_growth_bytes);
        if (kept >= reserve->reserved_bytes)
                return;
        node_release(reserve->unit, reserve->family, reserve->reserved_bytes - kept);
        reserve->reserved_bytes = kept;
}

void reserve_use(struct reserve *reserve, uint64_t bytes)
{
        reserve->used_bytes += bytes;
        if (reserve->used_bytes > reserve->used_high_bytes)
                reserve->used_high_bytes = reserve->used_bytes;
}
