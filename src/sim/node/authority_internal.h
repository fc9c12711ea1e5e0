/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface between the files of the authority (authority.h): a change of its record, from the
 * draft to the commit.
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
        /* the party whose `alive` mutex the caller locked for this draft; AUTHORITY_NOBODY: none */
        uint32_t taken;
        uint32_t let_in; /* the party that may run after the commit; AUTHORITY_NOBODY: none */
        /* number of processes with which time begins; 0: it does not begin in this draft */
        uint32_t begins_with;
        /* the thread's former cancel state; it is not cancelled while it has a draft */
        int cancelling;
};

static inline uint32_t party_index(const struct draft *draft, const struct party *party)
{
        return (uint32_t)(party - draft->state->party);
}

/* Begins a draft and disables cancellation of the thread until the draft ends, because the work on
 * it may read /proc. */
void draft_begin(struct draft *draft, struct authority *authority);

/* Commits the draft. False: another thread committed first, and nothing was changed. */
bool draft_commit(struct draft *draft);
void draft_drop(struct draft *draft);

/* Returns the calling thread's party, or NULL. */
struct party *own_party(struct draft *draft);

/* Reserves a free party for this process, without a thread yet, and stores it in draft->taken.
 * NULL: no room. */
struct party *party_take(struct draft *draft, enum time_role role);

/* Makes the calling thread the thread of the party, whose `alive` mutex it holds. */
void party_be(struct draft *draft, struct party *party);
void party_be_none(void);

/* Lets the next party run if none runs; moves time if none is ready. */
void authority_dispatch(struct draft *draft);

/* Puts a party at the end of the line of ready parties. */
void party_make_ready(struct draft *draft, struct party *party);

/* Removes a party. */
void party_drop(struct draft *draft, struct party *party);

/* Returns whether the party's thread exists, as the kernel reports it. */
bool party_is_alive(struct draft *draft, const struct party *party);

/* Locks a party's `alive` mutex for the calling thread. False: another thread has it. */
bool party_claim(struct party_place *place);

/* Removes the parties whose threads are dead. */
void authority_sweep(struct draft *draft);

/* Checks the running party: removes it if it is dead, or makes it absent if it blocks or computes
 * outside the simulator. */
void authority_watch(struct draft *draft);

/* Returns whether this process is in the PID namespace in which the party's pid and tid are
 * valid. */
bool party_is_in_sight(const struct party *party);

/* Stores this process and its PID namespace as the party's. */
void party_sign(struct party *party);

#endif
