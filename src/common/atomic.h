/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Atomic operations whose names carry the memory order, so that a grep shows which are used.
 *
 * Only these names are used in the project; the field's comment says its writer and readers.
 */
#ifndef ALIQUOT_COMMON_ATOMIC_H
#define ALIQUOT_COMMON_ATOMIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define load_relaxed(object) atomic_load_explicit((object), memory_order_relaxed)
#define load_acquire(object) atomic_load_explicit((object), memory_order_acquire)
#define store_relaxed(object, value) atomic_store_explicit((object), (value), memory_order_relaxed)
#define store_release(object, value) atomic_store_explicit((object), (value), memory_order_release)
#define add_relaxed(object, value) \
        atomic_fetch_add_explicit((object), (value), memory_order_relaxed)
#define add_acq_rel(object, value) \
        atomic_fetch_add_explicit((object), (value), memory_order_acq_rel)
#define swap_acq_rel(object, value) \
        atomic_exchange_explicit((object), (value), memory_order_acq_rel)
#define cas_acq_rel(object, expected, desired)                                   \
        atomic_compare_exchange_strong_explicit((object), (expected), (desired), \
                                                memory_order_acq_rel, memory_order_acquire)
#define fence_seq_cst() atomic_thread_fence(memory_order_seq_cst)

#endif
