/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mover: moves segments of swappable blocks between the card and the host, while the session is
 * held.
 *
 * The helper runs the mover, one segment at a time, after it has answered a hold; so the process
 * has drained. While the session has more on the card than page_room.resident_bytes, the mover
 * copies segments of this process out and unmaps them. While the session has less there, and
 * segments of this process are away, the mover maps new memory for them and copies them in. From
 * the first segment out to the last segment in, the process's own gate is shut (hold.h), whatever
 * the session's gate says.
 *
 * Order. Out: copy, unmap, release, then the ledger, which so never counts less than the card has.
 * In: the ledger first, then allocate, map, copy. Other processes of the session move at the same
 * time, so the mover checks the ledger after its own change, and takes the change back if it was
 * too much. A segment keeps its host memory for the next move. STATE_MOVES copies are in flight at
 * once: the driver's calls for one segment overlap with the copy of the next.
 *
 * Failures. The mover unmaps a segment only after its copy has completed, and keeps the host copy
 * until the segment is back. So every failed step can be repeated, and is, after a pause and
 * without end. A segment without host memory stays on the card. If a context has failed for good,
 * its segments are mapped without their bytes, which no program can read any more.
 */
#ifndef ALIQUOT_SHIM_CUDA_SWAP_MOVE_H
#define ALIQUOT_SHIM_CUDA_SWAP_MOVE_H

#include <stdint.h>

#include "shim/cuda/place/front.h"
#include "shim/cuda/state/swaps.h"

/* The channel of the current context, which is `place`'s. The context's first block makes it, while
 * the card has room. NULL: the driver refused. Any thread. */
struct swap_channel *swap_channel(struct place place);
/* The context with this number has ended. */
void swap_channel_gone(uint32_t owner);

/* From now on the helper runs the mover. May be called again. */
void swap_move_begin(void);

#endif
