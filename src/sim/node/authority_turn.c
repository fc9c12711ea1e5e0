/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Picks the next party, and moves time when no party is ready. See authority.h.
 */
#include <errno.h>

#include "common/atomic.h"
#include "common/time_namespace.h"
#include "sim/node/authority_internal.h"

bool party_claim(struct party_place *place)
{
        int rc = pthread_mutex_trylock(&place->alive);

        if (rc == EOWNERDEAD)
                rc = pthread_mutex_consistent(&place->alive);
        return rc == 0;
}

bool party_is_alive(struct draft *draft, const struct party *party)
{
        struct party_place *place = &draft->authority->place[party_index(draft, party)];

        if (party->is_expected)
                return true;
        if (!party_claim(place))
                return true;
        pthread_mutex_unlock(&place->alive);
        return false;
}

void party_drop(struct draft *draft, struct party *party)
{
        if (draft->state->running == party_index(draft, party))
                draft->state->running = AUTHORITY_NOBODY;
        party->state = PARTY_FREE;
}

void party_make_ready(struct draft *draft, struct party *party)
{
        party->state = PARTY_READY;
        party->turn = draft->state->next_turn++;
        store_relaxed(&party->is_woken, 0);
}

void authority_sweep(struct draft *draft)
{
        for (uint32_t i = 0; i < draft->state->high; i++) {
                struct party *party = &draft->state->party[i];

                if (party->state != PARTY_FREE && !party_is_alive(draft, party))
                        party_drop(draft, party);
        }
}

static bool is_of_process(const struct party *party, const struct party *other)
{
        return party->pid == other->pid && party->pid_namespace == other->pid_namespace &&
               party->process_start == other->process_start;
}

/* Returns the number of processes with a foreground thread among the parties. */
static uint32_t count_processes(const struct authority_state *state)
{
        uint32_t count = 0;

        for (uint32_t i = 0; i < state->high; i++) {
                const struct party *party = &state->party[i];
                bool is_first = party->state != PARTY_FREE && !party->is_background;

                for (uint32_t j = 0; j < i && is_first; j++) {
                        const struct party *other = &state->party[j];

                        is_first = other->state == PARTY_FREE || other->is_background ||
                                   !is_of_process(party, other);
                }
                count += is_first;
        }
        return count;
}

/* Begins time when all expected processes have joined. The ready parties then run in the order of
 * their processes, whatever the order in which they joined. */
static void begin_when_complete(struct draft *draft)
{
        struct authority_state *state = draft->state;
        uint32_t count;

        if (state->is_begun)
                return;
        authority_sweep(draft);
        count = count_processes(state);
        if (count == 0)
                return;
        if (count < state->begin_with) {
                if (clock_shared_ns() < state->begin_by_ns)
                        return;
                draft->begins_with = count;
        }
        state->is_begun = 1;
        for (uint32_t i = 0; i < state->high; i++) {
                if (state->party[i].state == PARTY_READY && !state->party[i].is_background)
                        state->party[i].turn = state->next_turn;
        }
        state->next_turn++;
}

static bool goes_before(const struct party *party, const struct party *other)
{
        if (party->turn != other->turn)
                return party->turn < other->turn;
        if (party->process_start != other->process_start)
                return party->process_start < other->process_start;
        if (party->pid != other->pid)
                return party->pid < other->pid;
        return party->number < other->number;
}

/* Makes all parties ready whose deadline has come. */
static void expire(struct authority_state *state)
{
        uint64_t now_ns = load_relaxed(&state->now_ns);
        uint64_t turn = state->next_turn++;

        for (uint32_t i = 0; i < state->high; i++) {
                struct party *party = &state->party[i];

                if (party->state != PARTY_WAITING || party->deadline_ns > now_ns)
                        continue;
                party->state = PARTY_READY;
                party->turn = turn;
                store_relaxed(&party->is_woken, 0);
        }
}

static struct party *first_ready(struct authority_state *state)
{
        struct party *first = NULL;

        for (uint32_t i = 0; i < state->high; i++) {
                struct party *party = &state->party[i];

                if (party->state != PARTY_READY || (!state->is_begun && !party->is_background))
                        continue;
                if (!first || goes_before(party, first))
                        first = party;
        }
        return first;
}

/* Returns the party that waits for the earliest time, among all parties or those in the foreground.
 * NULL: none waits for a time. */
static struct party *first_due(struct authority_state *state, bool is_foreground)
{
        struct party *first = NULL;

        for (uint32_t i = 0; i < state->high; i++) {
                struct party *party = &state->party[i];

                if (party->state != PARTY_WAITING || party->deadline_ns == TIME_NEVER ||
                    (is_foreground && party->is_background))
                        continue;
                if (!first || party->deadline_ns < first->deadline_ns)
                        first = party;
        }
        return first;
}

static void let_run(struct draft *draft, struct party *party)
{
        party->state = PARTY_RUNNING;
        party->seen_ns = 0;
        party->seen_idle_ns = 0;
        party->seen_ticks = 0;
        draft->state->running = draft->let_in = party_index(draft, party);
        store_relaxed(&party->go, load_relaxed(&party->go) + 1);
}

/* Adds the real time that has passed, if virtual time followed it. */
static void end_idleness(struct authority_state *state)
{
        uint64_t since_ns = load_relaxed(&state->idle_since_ns);

        if (!since_ns)
                return;
        store_relaxed(&state->now_ns, load_relaxed(&state->now_ns) + clock_shared_ns() - since_ns);
        store_relaxed(&state->idle_since_ns, 0);
}

/* Jumps to the next deadline when no party is ready, unless the party with that deadline is
 * dead. */
static void leap(struct draft *draft, struct party *foreground)
{
        struct authority_state *state = draft->state;
        struct party *due = first_due(state, false);

        if (!party_is_alive(draft, due))
                party_drop(draft, due);
        else if (!party_is_alive(draft, foreground))
                party_drop(draft, foreground);
        else if (due->deadline_ns > load_relaxed(&state->now_ns))
                store_relaxed(&state->now_ns, due->deadline_ns);
}

void authority_dispatch(struct draft *draft)
{
        struct authority_state *state = draft->state;

        if (state->running != AUTHORITY_NOBODY)
                return;
        end_idleness(state);
        begin_when_complete(draft);
        for (;;) {
                struct party *ready, *foreground;

                expire(state);
                ready = first_ready(state);
                if (ready && party_is_alive(draft, ready)) {
                        let_run(draft, ready);
                        return;
                }
                if (ready) {
                        party_drop(draft, ready);
                        continue;
                }
                foreground = first_due(state, true);
                if (!foreground)
                        break;
                leap(draft, foreground);
        }
        store_relaxed(&state->idle_since_ns, clock_shared_ns());
}
