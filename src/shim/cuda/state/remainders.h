/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of remainder.h: memory that the driver took on its own, for each row. Wiped in a forked
 * child: state.h.
 */
#ifndef ALIQUOT_SHIM_CUDA_STATE_REMAINDERS_H
#define ALIQUOT_SHIM_CUDA_STATE_REMAINDERS_H

#include <stdint.h>

#include "common/atomic.h"
#include "proto/page.h"
#include "shim/lock.h"

/* Maximum number of contexts of one device whose malloc heap is charged and not yet allocated by
 * the driver. The heap of a further context is charged twice (as heap and in the remainder) from
 * the time when the driver allocates it until the context ends. */
#define REMAINDER_HEAPS 4u

/* The remainder of a device (remainder.h). `lock` guards the charge kept under SPACE_REMAINDER, and
 * the fields that are not atomic. A *look* is a query of NVML. */
struct remainder {
        struct lock lock;
        _Atomic uint32_t is_told;    /* NVML lists this process */
        _Atomic uint32_t is_foreign; /* NVML lists another process under our PID */
        /* When the next periodic look is due. */
        _Atomic uint64_t due_ns;
        /* The driver may have taken or freed memory on its own since the last look. */
        _Atomic uint32_t is_changed;
        /* Upper bound of the memory that the driver took, or kept after a free, since the last
         * look, and that is not charged. */
        _Atomic uint64_t unlooked_bytes;
        /* When the last look ended. */
        uint64_t looked_ns;
        uint64_t silent_ns; /* NVML failed: it is not asked again before this time */
        /* Duration of the first query; the second one is compared with it. */
        uint64_t first_cost_ns;
        /* About the shortest duration of recent queries; 0 until two are measured. */
        uint64_t cost_ns;
        uint64_t min_bytes; /* minimum of several uncertain answers, made while charges changed */
        /* Number of those uncertain answers. */
        uint32_t doubts;
        /* There are estimates that no look has replaced. Written under `lock`. */
        _Atomic uint32_t has_estimates;
        /* Keys of heap charges whose heap the driver has not allocated yet; 0: no key. */
        uint64_t heap_key[REMAINDER_HEAPS];
};

struct remainder_state {
        struct remainder remainder[PAGE_DEVICES];
};

extern struct remainder_state remainder_state;

#endif
