/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frees memory in stream order where the driver itself offers only a free that waits: host memory
 * in place of a card's memory (spill.h), and swappable blocks (swap/block.h).
 *
 * The driver has no stream-ordered free for pinned memory, and cuMemFreeHost may wait for the whole
 * device. So a free in a stream only enqueues a host function behind the stream's work, and
 * returns. When that function has run, the block is *passed*: no work uses it any more.
 * host_frees_sweep() unpins passed blocks and releases their charges. It runs in calls that may
 * wait for the device: a wait for a context, the free of another such block, or a request that
 * finds no room. If the stream's context is destroyed first, or fails, the function may never run.
 * Then the block stays charged until the context that allocated it is destroyed, which unpins it.
 * Any thread.
 */
#ifndef ALIQUOT_SHIM_CUDA_CHARGE_HOST_FREES_H
#define ALIQUOT_SHIM_CUDA_CHARGE_HOST_FREES_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "shim/charge.h"

/* Frees a block that no work uses any more. Any context may be current. */
typedef CUresult host_unpinner(CUdeviceptr address);

/* Frees the block at `address` in the order of `stream` (CU_STREAM_LEGACY or CU_STREAM_PER_THREAD
 * for a default stream). `taken` is the block's charge; on success it is kept here until the block
 * is unpinned. CUDA_ERROR_INVALID_VALUE if the stream may be capturing. */
CUresult host_free_in_order(struct charge *taken, CUdeviceptr address, CUstream stream,
                            host_unpinner *unpin);

/* Both call cuMemFreeHost in the context that allocated the block. host_unpin_at_once() first waits
 * for the work in flight in that context, as cuMemFree does, unless a capture is open. */
host_unpinner host_unpin, host_unpin_at_once;

/* Waits for the current context, as cuMemFree does. Does not invalidate a capture. */
CUresult host_free_wait(void);

/* Whether any block is not unpinned yet. */
bool host_frees_are_pending(void);

/* Unpins the blocks that are passed. May wait for the device. Does not invalidate a capture. */
void host_frees_sweep(void);

/* Call before and after a driver call that may destroy a context: between the two, no block is
 * unpinned. */
void host_frees_hold(void);
void host_frees_go_on(void);

/* Forgets the blocks of the destroyed context with this number. Call before charge_drop_owner(). */
void host_frees_owner_gone(uint32_t owner);

#endif
