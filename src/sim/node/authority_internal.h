/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The internal interface between the files of the authority: a change of its record, from beginning
 * to end.
 */
#ifndef ALIQUOT_SIM_NODE_AUTHORITY_INTERNAL_H
#define ALIQUOT_SIM_NODE_AUTHORITY_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/node/authority.h"

struct draft {
        struct authority *authority;
        struct authority_state *state; /* a private copy until it is committed */
        struct cell_draft cell;
        uint32_t taken; /* the party whose `alive` the caller took for it; AUTHORITY_NOBODY: none */
        uint32_t let_in;      /* the party that may run next; likewise */
        uint32_t begins_with; /* time begins with this many processes; 0: it does not begin */
        int cancelling; /* the thread's former cancel state: no thread is cancelled with a draft */
};

static inline uint32_t party_index(const struct draft *draft, const struct party *party)
{
        return (uint32_t)(party - draft->state->party);
}

/* Begins a draft, and disables the thread's cancellation until its end, because the work may read
 * /proc. */
void draft_begin(struct draft *draft, struct authority *authority);

/* False: another thread committed first, and nothing has happened. */
bool draft_commit(struct draft *draft);
void draft_drop(struct draft *draft);

/* The calling thread's party, or NULL. */
struct party *own_party(struct draft *draft);

/* Takes a free party for this process, not for a thread yet: draft->taken. NULL: no room. */
struct party *party_take(struct draft *draft, enum time_role role);

/* Makes the calling thread, which holds the party's `alive`, the party. */
void party_be(struct draft *draft, struct party *party);
void party_be_none(void);

/* Lets the next party run if none runs; moves time if none is ready. */
void authority_dispatch(struct draft *draft);

/* Puts a party at the end of the line. */
void party_make_ready(struct draft *draft, struct party *party);

/* Removes a party. */
void party_drop(struct draft *draft, struct party *party);

/* Whether its thread exists, by the kernel's word. */
bool party_is_alive(struct draft *draft, const struct party *party);

/* Takes a party's `alive` for the calling thread. */
bool party_claim(struct party_place *place);

/* Drops the dead. */
void authority_sweep(struct draft *draft);

/* Checks the running party: removes a dead one, and marks one that does something else as
 * absent. */
void authority_watch(struct draft *draft);

/* Whether the party's pid and tid mean the same in this process's PID namespace. */
bool party_is_in_sight(const struct party *party);

/* Marks a party as this process's. */
void party_sign(struct party *party);

#endif
