/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the driver took by itself, by row (remainder.h). Wiped in a forked child: state.h.
 */
#ifndef ALIQUOT_SHIM_CUDA_STATE_REMAINDERS_H
#define ALIQUOT_SHIM_CUDA_STATE_REMAINDERS_H

#include <stdint.h>

#include "common/atomic.h"
#include "proto/page.h"
#include "shim/lock.h"

/* Contexts of a device whose malloc heap is charged and not yet allocated by the driver, as many as
 * are tracked. With one more, one of them is charged twice (as heap and in the remainder) once the
 * driver allocates its heap, until its context ends. */
#define REMAINDER_HEAPS 4u

/* What the driver took of a device by itself: remainder.h. The lock guards the charge kept under
 * SPACE_REMAINDER, and what is not atomic. */
struct remainder {
        struct lock lock;
        _Atomic uint32_t is_told;    /* NVML lists this process */
        _Atomic uint32_t is_foreign; /* it lists another one by our number */
        _Atomic uint64_t due_ns;
        _Atomic uint32_t is_changed; /* the driver may have taken something since the last look */
        /* So much at most was taken since the last look, or kept though it was given back, and is
         * not charged. */
        _Atomic uint64_t unlooked_bytes;
        uint64_t looked_ns;
        uint64_t silent_ns; /* it did not answer: it is asked again then */
        uint64_t first_cost_ns;
        uint64_t cost_ns;     /* of a question, at least, of late. 0 until two were measured */
        uint64_t least_bytes; /* by so many answers beside charges that came and went */
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
