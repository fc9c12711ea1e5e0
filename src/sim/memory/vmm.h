/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Physical memory of cuMemCreate, and the blocks in the arena (homes) with its bytes.
 */
#ifndef ALIQUOT_SIM_MEMORY_VMM_H
#define ALIQUOT_SIM_MEMORY_VMM_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "sim/node/config.h"
#include "sim/node/node.h"

#define VMM_GRANULARITY (2ULL << 20)

/* A physical allocation. Guarded by vmm_lock in vmm.c; `mappings` only changes with ranges_lock
 * held too. */
struct physical {
        uint64_t handle;
        unsigned unit;
        uint64_t bytes;
        CUdeviceptr home;
        CUmemAllocationProp prop;
        unsigned references; /* references of the handle */
        unsigned mappings;
        bool is_imported;
        uint64_t share; /* id of the object (share.h), once exported or imported; else 0 */
        uint64_t id;
};

struct memory_home {
        CUdeviceptr address;
        uint64_t bytes;
        uint64_t share; /* id of the object (share.h); 0: no other process has the memory */
};

/* Allocate and free whole chunks of the arena, counted as `family`. If other processes still hold
 * the memory, home_end() frees it when they release it. */
CUresult home_make(unsigned unit, enum family family, uint64_t bytes, CUdeviceptr *ret);
void home_end(unsigned unit, enum family family, const struct memory_home *home);

/* In memory.c: call these around a change of what mappings allow. mapping_change_begin() waits for
 * threads that access memory (memory_touch_begin()), and must be called before other locks are
 * taken. */
void mapping_change_begin(void);
void mapping_change_end(void);

/* Charges the caller's time for a successful call about this many bytes. The caller may hold no
 * lock. */
void vmm_spend(enum vmm_call call, uint64_t bytes);

/* Frees a block, which was taken out of the arena's table, at once or when the other processes that
 * may hold its memory release it. */
void home_linger(CUdeviceptr address, uint64_t share);

#endif
