/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mover: moves segments of swappable blocks between the card and the host while the session is
 * held.
 *
 * The helper thread runs the mover, one segment at a time, after the process has answered the hold,
 * so all submitted work has completed. While the session has more bytes on the card than
 * page_room.resident_bytes, the mover copies segments of this process to the host and unmaps them.
 * While the session has fewer bytes on the card, and segments of this process are in the host, the
 * mover maps new memory for them and copies them back. From the first segment out until the last
 * segment is back, the process's own gate is closed (hold.h), whatever the session's gate says.
 *
 * Order. Out: copy, unmap, release, then change the ledger; so the ledger never counts less than
 * the card has. In: change the ledger first, then allocate, map, copy. Other processes of the
 * session move memory at the same time. So the mover checks the ledger after its own change, and
 * undoes the change if the sum is too high. A segment keeps its host memory for the next move. Up
 * to STATE_MOVES copies are in flight at once, so that the driver calls for one segment overlap
 * with the copy of the next.
 *
 * Failures. The mover unmaps a segment only after its copy has completed, and keeps the host copy
 * until the segment is back. So every failed step can be repeated; it is repeated after a pause,
 * without limit. A segment for which there is no host memory stays on the card. If a context has
 * failed for good, its segments are mapped again without their bytes, which no program can read any
 * more.
 */
#ifndef ALIQUOT_SHIM_CUDA_SWAP_MOVE_H
#define ALIQUOT_SHIM_CUDA_SWAP_MOVE_H

#include <stdint.h>

#include "shim/cuda/place/front.h"
#include "shim/cuda/state/swaps.h"

/* Returns the channel of the current context, whose place is `place`. Creates it with the context's
 * first block, while the card still has room. NULL: the driver refused. Any thread. */
struct swap_channel *swap_channel(struct place place);
/* Removes the channel of the destroyed context with this number. */
void swap_channel_gone(uint32_t owner);

/* Makes the helper run the mover from now on. May be called again. */
void swap_move_begin(void);

#endif
