/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The remainder: memory that the driver takes of a card beyond the requests, such as code, local
 * memory of kernels, the rest of its 2 MiB pages, streams, and what cuBLAS and NCCL cause.
 *
 * NVML shows how much of the card this process holds. The part that no call was charged for is the
 * *remainder*: one charge for each device, updated whenever NVML is asked. The driver already has
 * this memory, so it is charged even above the limit; then every request is refused until enough
 * was freed.
 *
 * NVML is asked when a call that allocates, frees or waits finds that it is due: at once after a
 * call that may have made the driver take or free memory by itself (a module, a context, a limit,
 * the first launch of a function); before the rounding of requests could exceed a limit; before a
 * refusal; and otherwise every 20 ms. A question took 30 us on an H200 with driver 580, and 150 to
 * 220 us after a pause (2026-11-27). If it takes longer, the periodic questions become rarer, so
 * that they cost a fifth of a percent; and after such a call NVML is asked only before the next
 * memory is granted.
 *
 * Memory that NVML lists for no process or for another one is left out (charge_mark_unseen()):
 * managed memory, and imports. If NVML does not list this process (another PID namespace, no
 * libnvidia-ml), there is no remainder, and estimates stay. Nor is there one in a session made with
 * context=free. Any thread; no thread waits for another one's question.
 */
#ifndef ALIQUOT_SHIM_CUDA_CHARGE_REMAINDER_H
#define ALIQUOT_SHIM_CUDA_CHARGE_REMAINDER_H

#include "shim/cuda/place/front.h"

/*
 * Call before a context is made. If NVML lists our pid before this process has used the card, that
 * memory is from before an exec(), and the driver frees it soon: this waits for it, 2 s at most,
 * because it would count as remainder. In a PID namespace of its own, our pid may be another
 * process's pid for NVML: then NVML's figures are ignored.
 */
void remainder_before_context(int row);
bool remainder_is_foreign(int row);

/*
 * Call around a grant of this many bytes, and while a block of this size is being freed: the driver
 * takes whole pages, and keeps a page until its last block is freed. The possible sum since the
 * last look is counted, and there is a look before it could exceed a limit. So the memory of one
 * process exceeds a limit by at most one page for each thread in a call; the other processes of its
 * session may each hold a 64th of the limit (4 to 32 MiB) that was not looked at.
 */
void remainder_granted(int row, uint64_t bytes);
void remainder_gives_back(int row, uint64_t bytes);

/* A look, if one is due, or if a grant of `bytes` could pass the limit (0: none is wanted). */
void remainder_tend(int row, uint64_t bytes);

/* Of every device, if one is due. */
void remainders_tend(void);

/* Before the program is told the free memory: looks at what it took and freed. */
void remainder_view(int row);

/* Before a refusal: a look. False: there is none to be had; else there may be more room now. */
bool remainder_relieve(int row);

/* The driver may have taken or freed memory by itself: look now, or very soon. */
void remainder_changed(int row);
void remainders_changed(void);

/* Makes the next call that may look do so: the charge of a pool or of graphs fell to what they
 * hold, and the surplus had hidden as much; or a function was launched for the first time, which
 * loads its code under lazy loading. Locks may be held. */
void remainder_is_due(int row);
void remainders_are_due(void);

/* Whether NVML lists this process, so that what the driver takes is charged. */
bool remainder_is_measured(int row);

/*
 * Keeps an estimate for code that the driver has just loaded, under SPACE_MODULE and this key, and
 * makes a look due. It is charged until a look, while no call is in the driver, charges the
 * measured memory instead; so it stays if NVML never lists this process. It does not end with its
 * context. False: there is no remainder, and the caller keeps the estimate.
 */
bool remainder_keep_estimate(struct charge *estimate, uint64_t key);

/*
 * The heap of a context (kept under SPACE_CONTEXT and this key) is charged, and the driver
 * allocates it with the first module that needs it. Its charge is marked unseen by the caller, so
 * that it hides no other memory, until the device holds that much more from one look to the next.
 */
void remainder_heap_set(int row, uint64_t key);

#endif
