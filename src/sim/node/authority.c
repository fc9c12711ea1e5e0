/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes part in virtual time: joining, leaving, waiting, waking. See authority.h.
 */
#include "sim/node/authority.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/time_namespace.h"
#include "sim/node/authority_internal.h"
#include "sim/node/robust.h"

/* How often a waiting party checks the running one, in real time. WATCH_NS is for the watcher, the
 * party that began to wait last. All others use WATCH_FOR_WATCHER_NS: they only make sure that
 * there is a watcher. */
#define WATCH_NS 2000000
#define WATCH_FOR_WATCHER_NS 50000000
/* Time between two checks by a thread that has no entry among the parties, in real time. */
#define LOOK_NS 1000000
#define BEGIN_BY_NS (10 * CLOCK_SECOND_NS)

void authority_make(struct authority *authority)
{
        struct authority_state *state = &authority->state[0];
        int processor = sched_getcpu();

        authority->processor = processor > 0 ? (uint32_t)processor % CPU_SETSIZE : 0;
        cell_make(&authority->cell, sizeof(authority->state[0]));
        for (uint32_t i = 0; i < AUTHORITY_PARTIES; i++)
                robust_init(&authority->place[i].alive);
        store_relaxed(&authority->watcher, AUTHORITY_NOBODY);
        state->head.bytes = offsetof(struct authority_state, party);
        state->running = AUTHORITY_NOBODY;
        store_relaxed(&state->now_ns, CLOCK_SECOND_NS);
        store_relaxed(&state->idle_since_ns, clock_shared_ns());
}

/* Reads `go` and `is_woken` of the thread's own party from the record. Returns `go`. */
static uint32_t read_party(struct authority *authority, uint32_t index, bool *ret_is_woken)
{
        uint64_t seen;
        uint32_t go;

        do {
                const struct authority_state *state =
                        cell_look(&authority->cell, authority->state, &seen);

                go = load_relaxed(&state->party[index].go);
                *ret_is_woken = load_relaxed(&state->party[index].is_woken);
        } while (!cell_is_current(&authority->cell, seen));
        return go;
}

/* Checks the running party, unless the caller is the running party by now. If another thread
 * changes the record meanwhile, the check is void and not needed. */
static void look_after(struct authority *authority, uint32_t index, uint32_t seen)
{
        struct draft draft;

        draft_begin(&draft, authority);
        if (load_relaxed(&draft.state->party[index].go) != seen) {
                draft_drop(&draft);
                return;
        }
        authority_watch(&draft);
        (void)draft_commit(&draft);
}

/* Sleeps until the party may run: until its `go` differs from `seen`. Returns whether another party
 * woke it. */
static bool rest_until_go(struct authority *authority, uint32_t index, uint32_t seen)
{
        struct party_place *place = &authority->place[index];
        bool is_woken, is_over;

        while (read_party(authority, index, &is_woken) == seen) {
                bool is_watcher = load_relaxed(&authority->watcher) == index;
                struct timespec span = { .tv_nsec = is_watcher ? WATCH_NS : WATCH_FOR_WATCHER_NS };
                uint32_t bell = load_acquire(&place->bell);

                store_relaxed(&place->is_asleep, 1);
                fence_seq_cst();
                is_over = read_party(authority, index, &is_woken) == seen &&
                          syscall(SYS_futex, &place->bell, FUTEX_WAIT, bell, &span, NULL, 0) < 0 &&
                          errno == ETIMEDOUT;
                store_relaxed(&place->is_asleep, 0);
                if (is_over)
                        look_after(authority, index, seen);
        }
        return is_woken;
}

/* Lets another party run, after the caller put its own party in line or made it wait, and sleeps
 * until it may run again. False: the commit failed, and nothing has changed. */
static bool yield(struct draft *draft, struct party *party, bool *ret_is_woken)
{
        struct authority *authority = draft->authority;
        uint32_t index = party_index(draft, party);
        uint32_t seen = load_relaxed(&party->go);
        bool is_resting;

        if (draft->state->running == index)
                draft->state->running = AUTHORITY_NOBODY;
        authority_dispatch(draft);
        is_resting = load_relaxed(&party->go) == seen;
        if (!draft_commit(draft))
                return false;
        if (is_resting)
                store_relaxed(&authority->watcher, index);
        *ret_is_woken = rest_until_go(authority, index, seen);
        return true;
}

/* -- calls ---------------------------------------------------------------------------------------
 */

uint64_t authority_now(struct authority *authority)
{
        uint64_t seen, idle_since_ns, now_ns;

        do {
                const struct authority_state *state =
                        cell_look(&authority->cell, authority->state, &seen);

                now_ns = load_relaxed(&state->now_ns);
                idle_since_ns = load_relaxed(&state->idle_since_ns);
        } while (!cell_is_current(&authority->cell, seen));
        return idle_since_ns ? now_ns + clock_shared_ns() - idle_since_ns : now_ns;
}

static bool has_foreground(const struct authority_state *state)
{
        for (uint32_t i = 0; i < state->high; i++) {
                if (state->party[i].state != PARTY_FREE && !state->party[i].is_background)
                        return true;
        }
        return false;
}

/* Prepares for the first program of a new group: removes dead parties and, if no foreground thread
 * is left, makes time begin anew. Also raises the number of processes for which the beginning
 * waits. */
static void prepare_beginning(struct draft *draft, uint32_t begin_with)
{
        struct authority_state *state = draft->state;

        authority_sweep(draft);
        if (!has_foreground(state)) {
                state->is_begun = 0;
                state->begin_with = 0;
                state->begin_by_ns = clock_shared_ns() + BEGIN_BY_NS;
        }
        if (!state->is_begun && begin_with > state->begin_with)
                state->begin_with = begin_with;
}

/* Tries to join, with one draft. False: try again. */
static bool try_join(struct authority *authority, enum time_role role, uint32_t begin_with)
{
        struct draft draft;
        struct party *party;
        bool is_woken;

        draft_begin(&draft, authority);
        party = own_party(&draft);
        if (party && party->state != PARTY_ABSENT) {
                draft_drop(&draft);
                return true;
        }
        if (!party) {
                if (role == TIME_FOREGROUND)
                        prepare_beginning(&draft, begin_with);
                party = party_take(&draft, role);
                if (!party) {
                        draft_drop(&draft);
                        return true;
                }
                party_be(&draft, party);
        }
        party_make_ready(&draft, party);
        return yield(&draft, party, &is_woken);
}

void authority_join(struct authority *authority, enum time_role role, uint32_t begin_with)
{
        while (!try_join(authority, role, begin_with))
                ;
}

void authority_leave(struct authority *authority)
{
        struct draft draft;
        struct party *party;
        uint32_t index;

        do {
                draft_begin(&draft, authority);
                party = own_party(&draft);
                if (!party) {
                        draft_drop(&draft);
                        return;
                }
                index = party_index(&draft, party);
                party_drop(&draft, party);
                authority_dispatch(&draft);
        } while (!draft_commit(&draft));
        party_be_none();
        pthread_mutex_unlock(&authority->place[index].alive);
}

uint64_t authority_word(const _Atomic uint32_t *address, bool is_private)
{
        uint64_t at = (uint64_t)(uintptr_t)address;

        /* The offset within a page is the same in every process that maps the page. */
        if (!is_private)
                return (at & 4095) | 2;
        return (at ^ (uint64_t)getpid() << 42) | 1;
}

/* Waits with real sleeps, for a thread for which there was no free party. */
static bool wait_outside(struct authority *authority, bool has_word, uint64_t deadline_ns)
{
        const struct timespec nap = { .tv_nsec = LOOK_NS };

        do
                syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &nap, NULL);
        while (!has_word && authority_now(authority) < deadline_ns);
        return authority_now(authority) < deadline_ns;
}

/* The words for which a thread waits. */
struct awaited {
        unsigned count;
        const _Atomic uint32_t *const *address;
        const uint32_t *expected;
        uint64_t word, words; /* as in struct party */
};

static bool has_changed(const struct awaited *awaited)
{
        for (unsigned i = 0; i < awaited->count; i++) {
                if (load_acquire(awaited->address[i]) != awaited->expected[i])
                        return true;
        }
        return false;
}

enum outcome { WOKEN, OVERDUE, TO_BE_TRIED_AGAIN };

static enum outcome try_wait(struct authority *authority, const struct awaited *awaited,
                             uint64_t deadline_ns)
{
        struct draft draft;
        struct party *party;
        bool is_passing, is_woken;

        draft_begin(&draft, authority);
        is_woken = has_changed(awaited);
        if (is_woken || deadline_ns <= load_relaxed(&draft.state->now_ns)) {
                draft_drop(&draft);
                return is_woken ? WOKEN : OVERDUE;
        }
        party = own_party(&draft);
        is_passing = !party;
        if (!party)
                party = party_take(&draft, TIME_BACKGROUND);
        if (!party) {
                draft_drop(&draft);
                return wait_outside(authority, awaited->count > 0, deadline_ns) ? WOKEN : OVERDUE;
        }
        if (is_passing)
                party_be(&draft, party);
        party->state = PARTY_WAITING;
        party->deadline_ns = deadline_ns;
        party->word = awaited->word;
        party->words = awaited->words;
        party->waits_since = draft.state->next_turn++;
        if (!yield(&draft, party, &is_woken))
                return TO_BE_TRIED_AGAIN;
        if (is_passing)
                authority_leave(authority);
        return is_woken ? WOKEN : OVERDUE;
}

static bool wait_for(struct authority *authority, const struct awaited *awaited,
                     uint64_t deadline_ns)
{
        enum outcome outcome;

        do
                outcome = try_wait(authority, awaited, deadline_ns);
        while (outcome == TO_BE_TRIED_AGAIN);
        return outcome == WOKEN;
}

bool authority_wait(struct authority *authority, const _Atomic uint32_t *address, uint32_t expected,
                    uint64_t word, uint64_t deadline_ns)
{
        struct awaited awaited = { .count = address != NULL,
                                   .address = &address,
                                   .expected = &expected,
                                   .word = address ? word : 0 };

        return wait_for(authority, &awaited, deadline_ns);
}

static uint64_t bit_of(uint64_t word)
{
        return UINT64_C(1) << (word >> 2) % 64;
}

bool authority_wait_any(struct authority *authority, const _Atomic uint32_t *const address[],
                        const uint32_t expected[], unsigned count, uint64_t deadline_ns)
{
        struct awaited awaited = { .count = count, .address = address, .expected = expected };

        for (unsigned i = 0; i < count; i++)
                awaited.words |= bit_of(authority_word(address[i], false));
        return wait_for(authority, &awaited, deadline_ns);
}

/* Returns the party that has waited longest for the word, or NULL. */
static struct party *first_waiter(struct authority_state *state, uint64_t word, bool is_private)
{
        struct party *first = NULL;
        uint64_t bit = is_private ? 0 : bit_of(word);

        for (uint32_t i = 0; i < state->high; i++) {
                struct party *party = &state->party[i];

                if (party->state != PARTY_WAITING || (party->word != word && !(party->words & bit)))
                        continue;
                if (!first || party->waits_since < first->waits_since)
                        first = party;
        }
        return first;
}

/* Commits even if no party waits. That makes the draft void of any thread that has read the word
 * and is about to wait, so that it reads the word again. */
void authority_wake(struct authority *authority, uint64_t word, uint32_t count)
{
        bool is_private = word & 1;
        struct draft draft;

        do {
                uint32_t left = count;
                struct party *party;

                draft_begin(&draft, authority);
                while ((left > 0 || !is_private) &&
                       (party = first_waiter(draft.state, word, is_private))) {
                        party_make_ready(&draft, party);
                        store_relaxed(&party->is_woken, 1);
                        left -= left > 0;
                }
                authority_dispatch(&draft);
        } while (!draft_commit(&draft));
}

uint32_t authority_expect(struct authority *authority, enum time_role role)
{
        struct draft draft;
        struct party *party;

        do {
                draft_begin(&draft, authority);
                party = party_take(&draft, role);
                if (!party) {
                        draft_drop(&draft);
                        return AUTHORITY_NOBODY;
                }
                party_make_ready(&draft, party);
                authority_dispatch(&draft);
        } while (!draft_commit(&draft));
        /* Unlocked for the thread that will be created. */
        pthread_mutex_unlock(&authority->place[draft.taken].alive);
        return draft.taken;
}

void authority_begin(struct authority *authority, uint32_t index)
{
        struct draft draft;
        uint32_t seen;

        /* a party that checks whether this one's thread is alive has the mutex for a moment */
        if (robust_lock(&authority->place[index].alive) == EOWNERDEAD)
                pthread_mutex_consistent(&authority->place[index].alive);
        do {
                struct party *party;

                draft_begin(&draft, authority);
                party = &draft.state->party[index];
                party_be(&draft, party);
                seen = load_relaxed(&party->go) - (party->state == PARTY_RUNNING);
        } while (!draft_commit(&draft));
        (void)rest_until_go(authority, index, seen);
}

void authority_forget(struct authority *authority, uint32_t index)
{
        struct draft draft;

        do {
                draft_begin(&draft, authority);
                party_drop(&draft, &draft.state->party[index]);
                authority_dispatch(&draft);
        } while (!draft_commit(&draft));
}

void authority_look(struct authority *authority)
{
        struct draft draft;

        do {
                draft_begin(&draft, authority);
                authority_sweep(&draft);
                authority_watch(&draft);
        } while (!draft_commit(&draft));
}
