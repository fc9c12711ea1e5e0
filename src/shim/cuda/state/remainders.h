/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that the driver took by itself, by row (remainder.h). Wiped in a forked child: state.h.
 */
#ifndef ALIQUOT_SHIM_CUDA_STATE_REMAINDERS_H
#define ALIQUOT_SHIM_CUDA_STATE_REMAINDERS_H

#include <stdint.h>

#include "common/atomic.h"
#include "proto/page.h"
#include "shim/lock.h"

/* Maximum number of a device's contexts with a charged malloc heap that the driver has not yet
 * allocated. Beyond this number, a context is charged twice (as heap and in the remainder) once the
 * driver allocates its heap, until the context ends. */
#define REMAINDER_HEAPS 4u

/* The remainder of a device: remainder.h. The lock guards the charge kept under SPACE_REMAINDER,
 * and the fields that are not atomic. */
struct remainder {
        struct lock lock;
        _Atomic uint32_t is_told;    /* NVML lists this process */
        _Atomic uint32_t is_foreign; /* it lists another one by our number */
        _Atomic uint64_t due_ns;
        _Atomic uint32_t is_changed; /* the driver may have taken something since the last look */
        /* Upper bound of memory that was taken since the last look, or kept after its free, and is
         * not charged. */
        _Atomic uint64_t unlooked_bytes;
        uint64_t looked_ns;
        uint64_t silent_ns; /* it did not answer: it is asked again then */
        uint64_t first_cost_ns;
        uint64_t cost_ns;     /* of a question, at least, of late. 0 until two were measured */
        uint64_t least_bytes; /* lower bound from several answers, while charges came and went */
        uint32_t doubts;
        _Atomic uint32_t has_estimates; /* that no look has replaced yet. Written under `lock` */
        /* Of charges of heaps that are set and not taken; 0 = none. */
        uint64_t heap_key[REMAINDER_HEAPS];
};

struct remainder_state {
        struct remainder remainder[PAGE_DEVICES];
};

extern struct remainder_state remainder_state;

#endif
