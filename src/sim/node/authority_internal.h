/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the files of the authority: a change of its record, from its beginning to its end.
 */
#ifndef ALIQUOT_SIM_NODE_AUTHORITY_INTERNAL_H
#define ALIQUOT_SIM_NODE_AUTHORITY_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/node/authority.h"

struct draft {
        struct authority *authority;
        struct authority_state *state; /* the caller's own until it is committed */
        struct cell_draft cell;
        uint32_t taken;  /* party whose `alive` the caller took for it; AUTHORITY_NOBODY: none */
        uint32_t let_in; /* who is let run; likewise */
        uint32_t begins_with; /* time begins with so few processes; 0: it does not */
        int cancelling;       /* how the thread stood before: none is cancelled with a draft */
};

static inline uint32_t party_index(const struct draft *draft, const struct party *party)
{
        return (uint32_t)(party - draft->state->party);
}

/* A thread is not cancelled with a draft, though what is done in it may look into /proc. */
void draft_begin(struct draft *draft, struct authority *authority);

/* False: somebody else was first, and nothing has happened. */
bool draft_commit(struct draft *draft);
void draft_drop(struct draft *draft);

/* The calling thread's party, or NULL. */
struct party *own_party(struct draft *draft);

/* One for this process, for no thread yet: draft->taken. NULL: no room. */
struct party *party_take(struct draft *draft, enum time_role role);

/* From now on the calling thread, which holds its `alive`, is the party. */
void party_be(struct draft *draft, struct party *party);
void party_be_none(void);

/* Lets the next one run, when nobody does; moves time when nobody is ready. */
void authority_dispatch(struct draft *draft);

/* Puts a party in line, behind all who are. */
void party_make_ready(struct draft *draft, struct party *party);

/* It no longer takes part. */
void party_drop(struct draft *draft, struct party *party);

/* Whether its thread is there: the kernel's word. */
bool party_is_alive(struct draft *draft, const struct party *party);

/* Takes a party's `alive` for the calling thread. */
bool party_claim(struct party_place *place);

/* Drops the dead. */
void authority_sweep(struct draft *draft);

/* Looks at the one that runs: the dead are dropped, and who does something else becomes absent. */
void authority_watch(struct draft *draft);

/* Whether a party's numbers mean in this process's PID namespace what they mean in its own. */
bool party_is_in_sight(const struct party *party);

/* Says of a party whose it is: this process's. */
void party_sign(struct party *party);

#endif
