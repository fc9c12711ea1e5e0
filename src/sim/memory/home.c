/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory blocks in the arena (homes) that are mapped at other addresses, and blocks that linger for
 * other processes.
 *
 * When this process has freed memory that other processes still hold, the memory cannot be used for
 * anything else. Its block stays in the arena, on a list that is searched for released blocks
 * whenever another one is added.
 */
#include <pthread.h>
#include <stdlib.h>

#include "sim/memory/arena.h"
#include "sim/memory/vmm.h"
#include "sim/node/share.h"

static pthread_mutex_t linger_lock = PTHREAD_MUTEX_INITIALIZER;
static struct lingerer {
        CUdeviceptr address;
        uint64_t share;
        struct lingerer *next;
} * lingerers; /* guarded by linger_lock */

CUresult home_make(unsigned unit, enum family family, uint64_t bytes, CUdeviceptr *ret)
{
        struct arena_block about = { .bytes = bytes, .id = block_next_id(), .kind = BLOCK_HOME };

        if (node_grant(unit, family, bytes) != GRANT_OK)
                return CUDA_ERROR_OUT_OF_MEMORY;
        *ret = arena_alloc(unit, &about);
        if (*ret)
                return CUDA_SUCCESS;
        node_release(unit, family, bytes);
        return CUDA_ERROR_OUT_OF_MEMORY;
}

void home_linger(CUdeviceptr address, uint64_t share)
{
        struct lingerer *entry = calloc(1, sizeof(*entry));

        pthread_mutex_lock(&linger_lock);
        if (entry) {
                entry->address = address;
                entry->share = share;
                entry->next = lingerers;
                lingerers = entry;
        }
        for (struct lingerer **link = &lingerers; *link;) {
                struct lingerer *old = *link;

                if (share_exists(old->share)) {
                        link = &old->next;
                        continue;
                }
                *link = old->next;
                arena_free(old->address);
                free(old);
        }
        pthread_mutex_unlock(&linger_lock);
}

void home_end(unsigned unit, enum family family, const struct memory_home *home)
{
        struct arena_block block;

        if (!arena_take(home->address, BLOCK_HOME, &block))
                return;
        if (home->share && !share_close(home->share)) {
                home_linger(home->address, home->share);
                return;
        }
        if (!home->share)
                node_release(unit, family, home->bytes);
        arena_free(home->address);
}
