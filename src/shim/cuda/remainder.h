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
 * may have made the driver take or give something by itself (a module, a context, a limit); when
 * this process has been charged more than ever by a step; and else each 20 ms. A question took 12
 * us on an H200 with driver 580 (2026-11-26); where it takes longer it is asked less often, so that
 * it costs half a percent.
 *
 * What NVML counts for no process or for another one is left out (charge_mark_unseen()): managed
 * memory, and imports. Where NVML does not list this process (another PID namespace, no
 * libnvidia-ml) there is no remainder: estimates stand. Nor is there one in a session made with
 * context=free. Any thread; nobody waits for another one's question.
 */
#ifndef ALIQUOT_SHIM_CUDA_REMAINDER_H
#define ALIQUOT_SHIM_CUDA_REMAINDER_H

#include "shim/cuda/front.h"

/*
 * Before each making of a context. In a PID namespace of its own a process may have a number that
 * NVML lists for another one: it is listed then before this process has anything there, and what
 * NVML tells is not believed.
 */
void remainder_before_context(int row);
bool remainder_is_foreign(int row);

/* A look, if one is due. */
void remainder_tend(int row);
void remainders_tend(void);

/* The driver may have taken or given back something by itself: a look now, or very soon. */
void remainder_changed(int row);
void remainders_changed(void);

#endif
