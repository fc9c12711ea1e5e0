/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves memory of a session that swaps between the card and the host, while the session is held.
 *
 * The helper runs it, a piece at a time, behind its answer to a hold: while more of the session is
 * on the card than page_room.resident_bytes, segments of this process are copied out and unmapped;
 * while less is, and some are away, they are made, mapped and copied in again. So the process is
 * drained, and from the first segment on it stands before a gate of its own (hold.h) until the last
 * one is back, whatever the session's gate says meanwhile.
 *
 * Order. Out: copy, unmap, release, then the ledger: never is less counted on the card than there
 * is. In: first the ledger, which is taken back if that was too much (other processes of the
 * session move at the same time), then make, map, copy. A segment is copied to memory of the host
 * that stays its own for the next time. A few copies are in flight at once, so that the driver's
 * calls around one pass while the link copies the next.
 *
 * Failures. Nothing is unmapped before its copy was seen to be done, and nothing of the host's is
 * written or given up while a segment is away: so whatever fails is tried again, a little later and
 * without end. A segment for which the host has no memory stays on the card. A context that has
 * failed for good has its segments mapped without their bytes, which no program can read any more.
 */
#ifndef ALIQUOT_SHIM_CUDA_SWAP_MOVE_H
#define ALIQUOT_SHIM_CUDA_SWAP_MOVE_H

#include <stdint.h>

#include "shim/cuda/place/front.h"
#include "shim/cuda/state/swaps.h"

/* By which blocks of the current context, which is `place`'s, are copied; made with the first of
 * them, while the card has room for it. NULL: the driver has none. Any thread. */
struct swap_channel *swap_channel(struct place place);
/* The context with this number has ended. */
void swap_channel_gone(uint32_t owner);

/* The helper is to move what there is from now on. Once, or again. */
void swap_move_begin(void);

#endif
