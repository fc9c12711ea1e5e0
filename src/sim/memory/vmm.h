/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Physical memory of cuMemCreate, and the home blocks in the arena that back it.
 */
#ifndef ALIQUOT_SIM_MEMORY_VMM_H
#define ALIQUOT_SIM_MEMORY_VMM_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "sim/node/config.h"
#include "sim/node/node.h"

#define VMM_GRANULARITY (2ULL << 20)

/* Guarded by vmm_lock in vmm.c; `mappings` also changes with ranges_lock held inside it. */
struct physical {
        uint64_t handle;
        unsigned unit;
        uint64_t bytes;
        CUdeviceptr home;
        CUmemAllocationProp prop;
        unsigned references; /* of the handle */
        unsigned mappings;
        bool is_imported;
        uint64_t share; /* object, once exported or imported */
        uint64_t id;
};

struct memory_home {
        CUdeviceptr address;
        uint64_t bytes;
        uint64_t share; /* 0: nobody else has it */
};

/* Whole chunks of the arena, counted as `family`; and their end, which waits for other holders. */
CUresult home_make(unsigned unit, enum family family, uint64_t bytes, CUdeviceptr *ret);
void home_end(unsigned unit, enum family family, const struct memory_home *home);

/* memory.c: call around a change of what mappings allow. Waits for threads that access memory
 * (memory_touch_begin()); taken before the other locks. */
void mapping_change_begin(void);
void mapping_change_end(void);

/* Charges the caller's time for a successful call about this many bytes. No lock may be held. */
void vmm_spend(enum vmm_call call, uint64_t bytes);

/* A taken block whose memory other processes may still hold: freed here, or when they release
 * it. */
void home_linger(CUdeviceptr address, uint64_t share);

#endif
