/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The remainder: memory that the driver takes on a card in addition to the program's requests, for
 * example for code, local memory of kernels, the rest of its 2 MiB pages, streams, and internal use
 * by cuBLAS and NCCL.
 *
 * NVML reports how much of the card this process holds. The part that no call was charged for is
 * the *remainder*: one charge for each device, updated by each *look*, that is, each query of NVML.
 * The driver already has this memory, so it is charged even above the limit; then every request is
 * refused until enough is freed.
 *
 * A look is made by a call that allocates, frees or waits, if a look is due:
 *
 * - at once after a call that may have made the driver take or free memory on its own (a module, a
 *   context, a limit, the first launch of a function);
 * - before the rounding of requests could exceed a limit;
 * - before a refusal;
 * - otherwise every 20 ms.
 *
 * A query took 30 us on an H200 with driver 580, and 150 to 220 us after a pause (2026-11-27). If
 * queries take longer, the periodic looks become rarer, so that they cost a fifth of a percent of
 * the time; and after a call that changed the driver's memory, the look is delayed until the next
 * memory is granted.
 *
 * Memory that NVML lists for no process or for another process is left out (charge_mark_unseen()):
 * managed memory, and imports. If NVML does not list this process (another PID namespace, or no
 * libnvidia-ml), there is no remainder, and estimates stay charged. There is no remainder either in
 * a session created with context=free. Any thread; no thread waits for a periodic look of another
 * thread.
 */
#ifndef ALIQUOT_SHIM_CUDA_CHARGE_REMAINDER_H
#define ALIQUOT_SHIM_CUDA_CHARGE_REMAINDER_H

#include "shim/cuda/place/front.h"

/*
 * Waits until memory of this process from before an exec() is gone, 2 s at most. Call it before a
 * context is created. If NVML lists our PID before this process has used the card, that memory is
 * from before an exec(), and the driver frees it soon; it would count as remainder. In a PID
 * namespace of its own, our PID may be the PID of another process for NVML: then
 * remainder_is_foreign() is true, and NVML's figures are ignored.
 */
void remainder_before_context(int row);
bool remainder_is_foreign(int row);

/*
 * Count what the driver may round up. Call remainder_granted() after a grant of `bytes`, and
 * remainder_gives_back() while a block of `bytes` is being freed: the driver takes whole 2 MiB
 * pages, and keeps a page until its last block is freed. The possible sum since the last look is
 * counted, and a look is made before the sum could exceed a limit. So one process exceeds a limit
 * by at most one page for each thread in a call. Every other process of its session may also hold a
 * 64th of the limit (4 to 32 MiB) that no look has covered.
 */
void remainder_granted(int row, uint64_t bytes);
void remainder_gives_back(int row, uint64_t bytes);

/* Makes a look if one is due, or if a grant of `bytes` could exceed the limit. 0: no grant is
 * wanted. */
void remainder_tend(int row, uint64_t bytes);

/* Makes a look for each device for which one is due. */
void remainders_tend(void);

/* Makes a look before the program is told the free memory, if any memory may have changed. */
void remainder_view(int row);

/* Makes a look before a refusal, after which there may be more room. False: NVML does not list this
 * process, so there was no look. */
bool remainder_relieve(int row);

/* Notes that the driver may have taken or freed memory on its own, and makes a look now or very
 * soon. */
void remainder_changed(int row);
void remainders_changed(void);

/* Makes a look due in the next call that may make one; does not query NVML, so the caller may hold
 * locks. Call it when the charge of a pool or of graphs has fallen to the reserved size (the excess
 * had hidden as much remainder), or when a function was launched for the first time, which loads
 * its code under lazy loading. */
void remainder_is_due(int row);
void remainders_are_due(void);

/* Whether NVML lists this process, so that memory which the driver takes on its own is charged. */
bool remainder_is_measured(int row);

/*
 * Keeps the charge `estimate` for code that the driver has just loaded, under SPACE_MODULE and
 * `key`, and makes a look soon. A look made while no call is in the driver charges the measured
 * memory instead, and drops the estimate. So the estimate stays if NVML never lists this process.
 * It does not end with its context. False: there is no remainder, and the caller keeps the
 * estimate.
 */
bool remainder_keep_estimate(struct charge *estimate, uint64_t key);

/*
 * Tells the remainder that the heap of a context is charged (under SPACE_CONTEXT and `key`)
 * although the driver allocates the heap only with the first module that needs it. The caller marks
 * the charge unseen, so that it hides no other memory. It becomes seen when the device's memory
 * grows by that much from one look to the next.
 */
void remainder_heap_set(int row, uint64_t key);

#endif
