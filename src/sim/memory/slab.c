/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slabs, and blocks in whole pages; see slab.h.
 *
 * A slab is a bitmap of grains. A block takes the first sufficient run of free grains in the oldest
 * slab of its context and family that has one. If there is none, another slab is taken from the
 * card; a slab is returned when its last block ends. How the real driver picks the slab is not
 * known, but in both cases 1000 blocks of 4 KiB fill two slabs.
 */
#include "sim/memory/slab.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/minmax.h"
#include "sim/context/context.h"
#include "sim/node/config.h"

#define GRAIN_BYTES UINT64_C(512)
#define GRAINS_MAX 8192u /* grains of a slab of 4 MiB */

struct slab {
        CUcontext context;
        enum family family;
        uint64_t bytes;
        uint32_t grains, taken;
        struct slab *next;
        unsigned char is_taken[GRAINS_MAX];
};

static pthread_mutex_t slabs_lock = PTHREAD_MUTEX_INITIALIZER;
static struct slab *slabs; /* oldest first; guarded by slabs_lock */

static uint64_t round_up(uint64_t bytes, uint64_t step)
{
        uint64_t over = step ? bytes % step : 0;

        return over ? bytes - over + step : bytes;
}

static bool is_small(uint64_t bytes)
{
        const struct grant_rules *rules = &config_get()->grants;

        return rules->slab_bytes > 0 && bytes <= rules->slab_max_bytes &&
               bytes <= rules->slab_bytes;
}

static uint32_t grains_of(uint64_t bytes)
{
        return (uint32_t)((bytes + GRAIN_BYTES - 1) / GRAIN_BYTES);
}

/* Returns the first run of `wanted` free grains; slab->grains when there is none. The caller holds
 * slabs_lock. */
static uint32_t run_find(const struct slab *slab, uint32_t wanted)
{
        uint32_t run = 0;

        for (uint32_t i = 0; i < slab->grains; i++) {
                run = slab->is_taken[i] ? 0 : run + 1;
                if (run == wanted)
                        return i + 1 - wanted;
        }
        return slab->grains;
}

static void run_set(struct slab *slab, uint32_t first, uint32_t count, unsigned char is_taken)
{
        for (uint32_t i = first; i < first + count; i++)
                slab->is_taken[i] = is_taken;
        slab->taken = is_taken ? slab->taken + count : slab->taken - count;
}

/* Adds a slab. NULL: the device is full, or the host out of memory. The caller holds slabs_lock. */
static struct slab *slab_make(CUcontext context, enum family family)
{
        uint64_t bytes = min_u64(config_get()->grants.slab_bytes, GRAINS_MAX * GRAIN_BYTES);
        struct slab *slab = calloc(1, sizeof(*slab));
        struct slab **link = &slabs;

        if (!slab || node_grant(context->unit, family, bytes) != GRANT_OK) {
                free(slab);
                return NULL;
        }
        slab->context = context;
        slab->family = family;
        slab->bytes = bytes;
        slab->grains = (uint32_t)(bytes / GRAIN_BYTES);
        while (*link)
                link = &(*link)->next;
        *link = slab;
        return slab;
}

static bool place_find(CUcontext context, enum family family, uint32_t wanted,
                       struct slab_place *ret)
{
        struct slab *slab;

        for (slab = slabs; slab; slab = slab->next) {
                if (slab->context != context || slab->family != family ||
                    slab->grains - slab->taken < wanted)
                        continue;
                ret->first = run_find(slab, wanted);
                if (ret->first < slab->grains)
                        break;
        }
        if (!slab) {
                slab = slab_make(context, family);
                ret->first = 0;
        }
        if (!slab)
                return false;
        ret->slab = slab;
        run_set(slab, ret->first, wanted, 1);
        return true;
}

bool slab_grant(CUcontext context, enum family family, uint64_t bytes, struct slab_place *ret)
{
        *ret = (struct slab_place){ 0 };
        if (!is_small(bytes)) {
                uint64_t taken = slab_alone_bytes(bytes, ret);

                return taken >= bytes && node_grant(context->unit, family, taken) == GRANT_OK;
        }
        pthread_mutex_lock(&slabs_lock);
        bool is_placed = place_find(context, family, grains_of(bytes), ret);
        pthread_mutex_unlock(&slabs_lock);
        return is_placed;
}

static void slab_end(struct slab *slab)
{
        struct slab **link = &slabs;

        while (*link != slab)
                link = &(*link)->next;
        *link = slab->next;
        node_release(slab->context->unit, slab->family, slab->bytes);
        free(slab);
}

void slab_release(CUcontext context, enum family family, uint64_t bytes,
                  const struct slab_place *place)
{
        if (!place->slab) {
                node_release(context->unit, family, slab_alone_bytes(bytes, place));
                return;
        }
        pthread_mutex_lock(&slabs_lock);
        run_set(place->slab, place->first, grains_of(bytes), 0);
        if (place->slab->taken == 0)
                slab_end(place->slab);
        pthread_mutex_unlock(&slabs_lock);
}

uint64_t slab_alone_bytes(uint64_t bytes, const struct slab_place *place)
{
        return place->slab ? 0 : round_up(bytes, config_get()->grants.block_step);
}
