/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the driver takes of a card beyond what was asked of it: code, local memory of kernels, the
 * rest of its 2 MiB pages, streams, whatever cuBLAS and NCCL make it do.
 *
 * NVML tells what this process holds of the card. What of that was charged to no call is the
 * *remainder*: one charge a device, set right whenever NVML is asked, above the limit if need be
 * (the driver has it), so that everything is refused until enough was given back.
 *
 * NVML is asked at calls that take or give memory and at waits, when it is due: at once after what
 * may have made the driver take or give something by itself (a module, a context, a limit, the
 * first launch of a function); before a limit could be passed by the rounding of what was asked;
 * before a refusal; and else each 20 ms. A question took 30 us on an H200 with driver 580, and 150
 * to 220 after a pause (2026-11-27). Where it takes longer it is asked less often by the clock, so
 * that those questions cost a fifth of a percent; and after such a change no sooner than before the
 * next memory is granted.
 *
 * What NVML counts for no process or for another one is left out (charge_mark_unseen()): managed
 * memory, and imports. Where NVML does not list this process (another PID namespace, no
 * libnvidia-ml) there is no remainder: estimates stand. Nor is there one in a session made with
 * context=free. Any thread; nobody waits for another one's question.
 */
#ifndef ALIQUOT_SHIM_CUDA_CHARGE_REMAINDER_H
#define ALIQUOT_SHIM_CUDA_CHARGE_REMAINDER_H

#include "shim/cuda/place/front.h"

/*
 * Before each making of a context. Where NVML lists our number before this process has anything
 * there, it lists what the process had before an exec(), which the driver gives back a little
 * later: that is waited for, 2 s at most, since it would be taken for the remainder. In a PID
 * namespace of its own a process may have a number that NVML lists for another one: then what NVML
 * tells is not believed.
 */
void remainder_before_context(int row);
bool remainder_is_foreign(int row);

/*
 * Around a grant of so many bytes, and while a block of so many is on its way back: the driver
 * takes whole pages, and keeps one until its last block is freed. What that may amount to since
 * the last look is counted, and there is a look before a limit could be passed by it. So what one
 * process has taken passes a limit by one page for each thread in a call at most; the others of
 * its session may each hold a 64th of the limit (4 to 32 MiB) that was not looked at.
 */
void remainder_granted(int row, uint64_t bytes);
void remainder_gives_back(int row, uint64_t bytes);

/* A look, if one is due, or if a grant of `bytes` could pass the limit (0: none is wanted). */
void remainder_tend(int row, uint64_t bytes);

/* Of every device, if one is due. */
void remainders_tend(void);

/* Before the program is told what is free: what it took and gave back is looked at. */
void remainder_view(int row);

/* Before a refusal: a look. False: there is none to be had; else there may be more room now. */
bool remainder_relieve(int row);

/* The driver may have taken or given back something by itself: a look now, or very soon. */
void remainder_changed(int row);
void remainders_changed(void);

/* The next call that may look does: the charge of a pool or of graphs fell to what they hold, and
 * what is more than that hid as much; or a function was launched for the first time, which loads
 * its code where that is loaded lazily. Locks may be held. */
void remainder_is_due(int row);
void remainders_are_due(void);

/* NVML lists this process: what the driver takes is charged, whatever was asked. */
bool remainder_is_measured(int row);

/*
 * An estimate of code that the driver has just loaded: kept under SPACE_MODULE and this key, and
 * looked behind. It is charged until a look, while nothing is on its way to the driver, charges
 * what was taken in its place; so it stays where NVML never lists this process. It does not go with
 * its context. False: there is no remainder, and the caller keeps it.
 */
bool remainder_keep_estimate(struct charge *estimate, uint64_t key);

/*
 * The heap of a context (kept under SPACE_CONTEXT and this key) is charged, and the driver takes it
 * with the first module that needs it. Its charge hides nothing that was taken (the caller has
 * marked it unseen), until the device holds so much more from one look to the next.
 */
void remainder_heap_set(int row, uint64_t key);

#endif
