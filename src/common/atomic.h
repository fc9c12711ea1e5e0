/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Atomic operations whose names contain the memory order, so that grep shows the orders in use.
 *
 * src/ uses only these names (tools/check-idioms refuses others). The comment of an atomic field
 * names its writer and its readers.
 *
 * The *_plain_* operations are for words that cannot be _Atomic because other code fixes their
 * type: the thunks' assembly, or the generated table of driver functions.
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
#define swap_relaxed(object, value) \
        atomic_exchange_explicit((object), (value), memory_order_relaxed)
#define swap_acq_rel(object, value) \
        atomic_exchange_explicit((object), (value), memory_order_acq_rel)
#define cas_acq_rel(object, expected, desired)                                   \
        atomic_compare_exchange_strong_explicit((object), (expected), (desired), \
                                                memory_order_acq_rel, memory_order_acquire)
#define fence_release() atomic_thread_fence(memory_order_release)
#define fence_seq_cst() atomic_thread_fence(memory_order_seq_cst)
/* Keeps the compiler, not the processor, from moving accesses. For a reader on whose thread another
 * thread executes the fence (membarrier(2)). */
#define fence_compiler() atomic_signal_fence(memory_order_seq_cst)

#define load_plain_relaxed(object) __atomic_load_n((object), __ATOMIC_RELAXED)
#define load_plain_acquire(object) __atomic_load_n((object), __ATOMIC_ACQUIRE)
#define store_plain_release(object, value) __atomic_store_n((object), (value), __ATOMIC_RELEASE)

#endif
