/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frees memory in the order of a stream that the driver can only free in a call that waits: host
 * memory in place of the card's (spill.h), and swappable blocks (swap/block.h).
 *
 * The driver has no such free for pinned memory, and cuMemFreeHost may wait for all of the device.
 * So the free of a stream only puts a function behind the stream's work, and returns. When the
 * function has run, the block is *passed*: nothing uses it any more. A passed block is unpinned,
 * and its charge given back, by the next call that may wait for the device (host_frees_sweep()):
 * a wait for a context, a free of another such block, or a request that finds no room. Where the
 * stream's context ends first, or fails, the function may never run: then the block stays charged
 * until its own context ends, which unpins it. Any thread.
 */
#ifndef ALIQUOT_SHIM_CUDA_CHARGE_HOST_FREES_H
#define ALIQUOT_SHIM_CUDA_CHARGE_HOST_FREES_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "shim/charge.h"

/* Frees a block that nothing uses any more, whichever context is current. */
typedef CUresult host_unpinner(CUdeviceptr address);

/* `taken` is the block's charge, kept here if the answer is success. The default stream is spelt
 * out. CUDA_ERROR_INVALID_VALUE in a stream that is being captured. */
CUresult host_free_in_order(struct charge *taken, CUdeviceptr address, CUstream stream,
                            host_unpinner *unpin);

/* cuMemFreeHost in the context in which the block was made; host_unpin_at_once() first waits for
 * work in flight there, as cuMemFree does. */
host_unpinner host_unpin, host_unpin_at_once;

/* Waits for the current context as cuMemFree does. Breaks no capture. */
CUresult host_free_wait(void);

/* Some block is not unpinned yet. */
bool host_frees_are_pending(void);

/* Unpins blocks whose stream has reached their free. May wait for the device. Breaks no capture. */
void host_frees_sweep(void);

/* Around a call that may end a context: nothing is unpinned meanwhile. */
void host_frees_hold(void);
void host_frees_go_on(void);

/* The context with this number has ended, and its blocks with it: before charge_drop_owner(). */
void host_frees_owner_gone(uint32_t owner);

#endif
