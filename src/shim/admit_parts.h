/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of shim/admit share, and nobody else.
 *
 *      admit.c             what holds, and what an ask is told
 *      admit_turn.c        which process of the session launches
 */
#ifndef ALIQUOT_SHIM_ADMIT_PARTS_H
#define ALIQUOT_SHIM_ADMIT_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/sums.h"
#include "shim/admit.h"

static inline uint64_t least(uint64_t a, uint64_t b)
{
        return a < b ? a : b;
}

static inline uint64_t most(uint64_t a, uint64_t b)
{
        return a > b ? a : b;
}

/* Was it within `within_ns` of now? Times ahead of us are a neighbour's now. */
static inline bool is_recent(uint64_t at_ns, uint64_t within_ns, uint64_t now_ns)
{
        return at_ns && (at_ns > now_ns ? at_ns - now_ns : now_ns - at_ns) < within_ns;
}

/* The scheduler looks at the session. */
void admit_ring(const struct admit *admit);

/* When to look again at what is in flight: in so long. */
uint64_t admit_drain_look_ns(const struct admit_ask *ask);

/* Until when the turn is ours; 0: it is another's, or is left to others, until *ret_until_ns. Who
 * loses every exchange for it goes on as if it were ours. */
uint64_t admit_take_turn(const struct admit *admit, const struct admit_ask *ask, uint64_t now_ns,
                         uint64_t *ret_until_ns);

/* The turn if nobody has it. */
void admit_note_turn(const struct admit *admit, const struct admit_ask *ask, uint64_t now_ns);

/* Tells who had the last turn to stand back; that is not oneself. */
void admit_want_turn(const struct admit *admit);

/* The lease is over: who waits for this process need not wait for it to wake up and say that it is
 * done, if it is known when that will be. */
void admit_end_turn_by(const struct admit *admit, uint64_t done_ns);

#endif
