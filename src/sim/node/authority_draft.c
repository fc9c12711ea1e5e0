/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of the authority's record, and the threads of its parties. See authority.h.
 *
 * A thread may reach the same authority through two libraries of a process, each with this code and
 * its own thread-local memory: a library that has no party for the thread yet searches for it by
 * the thread's id.
 */
#include <linux/futex.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/atomic.h"
#include "sim/node/authority_internal.h"

static __thread struct {
        struct authority *authority;
        uint32_t index, generation;
        struct authority *placed_by; /* the authority on whose processor the thread was placed */
} self __attribute__((tls_model("initial-exec")));

void draft_begin(struct draft *draft, struct authority *authority)
{
        *draft = (struct draft){ .authority = authority,
                                 .taken = AUTHORITY_NOBODY,
                                 .let_in = AUTHORITY_NOBODY };
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &draft->cancelling);
        draft->state = cell_begin(&authority->cell, authority->state, &draft->cell);
}

/* Wakes a party after a commit that may have picked it to run next. If the waking process stops or
 * dies in between, the periodic check of the woken party makes up for it. */
static void ring(struct party_place *place)
{
        add_acq_rel(&place->bell, 1);
        fence_seq_cst();
        if (load_relaxed(&place->is_asleep))
                syscall(SYS_futex, &place->bell, FUTEX_WAKE, 1, NULL, NULL, 0);
}

bool draft_commit(struct draft *draft)
{
        struct authority *authority = draft->authority;
        /* read before the commit: afterwards another thread may write to the copy */
        uint32_t begin_with = draft->state->begin_with;
        bool is_first = cell_commit(&draft->cell);

        if (!is_first && draft->taken != AUTHORITY_NOBODY) {
                pthread_mutex_unlock(&authority->place[draft->taken].alive);
                self.authority = NULL;
        }
        if (is_first && draft->let_in != AUTHORITY_NOBODY)
                ring(&authority->place[draft->let_in]);
        if (is_first && draft->begins_with)
                fprintf(stderr, "aliquot-sim: virtual time begins with %u processes of %u\n",
                        draft->begins_with, begin_with);
        pthread_setcancelstate(draft->cancelling, NULL);
        return is_first;
}

void draft_drop(struct draft *draft)
{
        cell_drop(&draft->cell);
        pthread_setcancelstate(draft->cancelling, NULL);
}

/* A forked child owns no parties of its parent. */
static void forked_child(void)
{
        self.authority = NULL;
}

static void watch_forks(void)
{
        pthread_atfork(NULL, NULL, forked_child);
}

static int32_t thread_id(void)
{
        return (int32_t)syscall(SYS_gettid);
}

struct party *own_party(struct draft *draft)
{
        struct authority_state *state = draft->state;
        int32_t tid;

        if (self.authority == draft->authority) {
                struct party *party = &state->party[self.index];

                if (self.index < state->high && party->state != PARTY_FREE &&
                    party->generation == self.generation)
                        return party;
        }
        self.authority = NULL;
        tid = thread_id();
        for (uint32_t i = 0; i < state->high; i++) {
                struct party *party = &state->party[i];

                if (party->state == PARTY_FREE || party->tid != tid || party->is_expected ||
                    party->pid != getpid() || !party_is_in_sight(party) ||
                    !party_is_alive(draft, party))
                        continue;
                self.authority = draft->authority;
                self.index = i;
                self.generation = party->generation;
                return party;
        }
        return NULL;
}

/* Finds the first free party whose `alive` mutex can be locked, which the caller then holds. Also
 * finds the highest number among the parties of this process. */
static struct party *find_free(struct draft *draft, uint64_t *ret_number)
{
        struct authority_state *state = draft->state;
        struct party *free = NULL;

        *ret_number = 0;
        for (uint32_t i = 0; i < AUTHORITY_PARTIES; i++) {
                struct party *at = &state->party[i];

                if (i >= state->high && free)
                        break;
                /* Drafts do not copy the parties from `high` on. */
                if (i >= state->high)
                        *at = (struct party){ 0 };
                if (at->state != PARTY_FREE) {
                        if (at->pid == getpid() && at->number > *ret_number)
                                *ret_number = at->number;
                } else if (!free && party_claim(&draft->authority->place[i])) {
                        free = at;
                }
        }
        return free;
}

struct party *party_take(struct draft *draft, enum time_role role)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        struct authority_state *state = draft->state;
        struct party *party;
        uint64_t number;

        pthread_once(&once, watch_forks);
        party = find_free(draft, &number);
        if (!party)
                return NULL;
        draft->taken = party_index(draft, party);
        if (draft->taken >= state->high) {
                state->high = draft->taken + 1;
                state->head.bytes = offsetof(struct authority_state, party[state->high]);
        }
        party->generation++;
        party->is_background = role == TIME_BACKGROUND;
        party->is_expected = 1;
        party->tid = 0;
        party->number = number + 1;
        party->deadline_ns = TIME_NEVER;
        party->word = 0;
        party->words = 0;
        party_sign(party);
        return party;
}

/* Moves the thread to the node's processor, if it may run there. One party runs at a time. On one
 * processor, the next party runs after a switch of threads; on two processors, a sleeping thread
 * must be woken, which takes at least ten times as long. */
static void place_thread(struct authority *authority)
{
        cpu_set_t processors;

        if (self.placed_by == authority)
                return;
        CPU_ZERO(&processors);
        CPU_SET(authority->processor, &processors);
        sched_setaffinity(0, sizeof(processors), &processors);
        self.placed_by = authority;
}

void party_be(struct draft *draft, struct party *party)
{
        place_thread(draft->authority);
        party->tid = thread_id();
        party->is_expected = 0;
        self.authority = draft->authority;
        self.index = party_index(draft, party);
        self.generation = party->generation;
}

void party_be_none(void)
{
        self.authority = NULL;
}
