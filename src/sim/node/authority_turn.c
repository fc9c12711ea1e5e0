/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose turn it is, and where time goes when it is nobody's. See authority.h.
 */
#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/atomic.h"
#include "sim/node/authority_internal.h"

bool party_is_alive(struct party *party)
{
        int rc;

        if (party->is_expected)
                return true;
        rc = pthread_mutex_trylock(&party->alive);
        if (rc == 0 || rc == EOWNERDEAD)
                pthread_mutex_unlock(&party->alive);
        return rc == EBUSY;
}

void party_drop(struct authority *authority, struct party *party)
{
        if (authority->running == (uint32_t)(party - authority->party))
                authority->running = AUTHORITY_NOBODY;
        party->state = PARTY_FREE;
}

void party_make_ready(struct authority *authority, struct party *party)
{
        party->state = PARTY_READY;
        party->turn = authority->next_turn++;
        party->is_woken = 0;
}

void authority_sweep(struct authority *authority)
{
        for (uint32_t i = 0; i < authority->high; i++) {
                struct party *party = &authority->party[i];

                if (party->state != PARTY_FREE && !party_is_alive(party))
                        party_drop(authority, party);
        }
}

/* The parties are right but for what was about to change; who runs is decided anew. */
void authority_repair(struct authority *authority)
{
        authority->running = AUTHORITY_NOBODY;
        for (uint32_t i = 0; i < authority->high; i++) {
                if (authority->party[i].state == PARTY_RUNNING)
                        party_make_ready(authority, &authority->party[i]);
        }
        authority_dispatch(authority);
}

static bool is_of_process(const struct party *party, const struct party *other)
{
        return party->pid == other->pid && party->pid_namespace == other->pid_namespace &&
               party->process_start == other->process_start;
}

/* Processes with a program's thread among the parties. */
static uint32_t count_processes(const struct authority *authority)
{
        uint32_t count = 0;

        for (uint32_t i = 0; i < authority->high; i++) {
                const struct party *party = &authority->party[i];
                bool is_first = party->state != PARTY_FREE && !party->is_background;

                for (uint32_t j = 0; j < i && is_first; j++) {
                        const struct party *other = &authority->party[j];

                        is_first = other->state == PARTY_FREE || other->is_background ||
                                   !is_of_process(party, other);
                }
                count += is_first;
        }
        return count;
}

/* Time begins when all are there who were to be waited for: then those in line go in their order,
 * however they came. */
static void begin_when_complete(struct authority *authority)
{
        uint32_t count;

        if (authority->is_begun)
                return;
        authority_sweep(authority);
        count = count_processes(authority);
        if (count == 0)
                return;
        if (count < authority->begin_with) {
                if (machine_now_ns() < authority->begin_by_ns)
                        return;
                fprintf(stderr, "aliquot-sim: virtual time begins with %u processes of %u\n", count,
                        authority->begin_with);
        }
        authority->is_begun = 1;
        for (uint32_t i = 0; i < authority->high; i++) {
                if (authority->party[i].state == PARTY_READY && !authority->party[i].is_background)
                        authority->party[i].turn = authority->next_turn;
        }
        authority->next_turn++;
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

/* Everybody who waits for a time that has come is ready, all at once. */
static void expire(struct authority *authority)
{
        uint64_t now_ns = load_relaxed(&authority->now_ns);
        uint64_t turn = authority->next_turn++;

        for (uint32_t i = 0; i < authority->high; i++) {
                struct party *party = &authority->party[i];

                if (party->state != PARTY_WAITING || party->deadline_ns > now_ns)
                        continue;
                party->state = PARTY_READY;
                party->turn = turn;
                party->is_woken = 0;
        }
}

static struct party *first_ready(struct authority *authority)
{
        struct party *first = NULL;

        for (uint32_t i = 0; i < authority->high; i++) {
                struct party *party = &authority->party[i];

                if (party->state != PARTY_READY || (!authority->is_begun && !party->is_background))
                        continue;
                if (!first || goes_before(party, first))
                        first = party;
        }
        return first;
}

/* Who waits for the earliest time, among all or in the foreground; NULL: nobody waits for one. */
static struct party *first_due(struct authority *authority, bool is_foreground)
{
        struct party *first = NULL;

        for (uint32_t i = 0; i < authority->high; i++) {
                struct party *party = &authority->party[i];

                if (party->state != PARTY_WAITING || party->deadline_ns == TIME_NEVER ||
                    (is_foreground && party->is_background))
                        continue;
                if (!first || party->deadline_ns < first->deadline_ns)
                        first = party;
        }
        return first;
}

/* Who was let run under the lock and has not been woken. */
static __thread struct party *let_in __attribute__((tls_model("initial-exec")));

void authority_wake_next(void)
{
        struct party *party = let_in;

        let_in = NULL;
        if (party)
                syscall(SYS_futex, &party->go, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void let_run(struct authority *authority, struct party *party)
{
        party->state = PARTY_RUNNING;
        party->seen_ns = 0;
        party->seen_idle_ns = 0;
        party->seen_ticks = 0;
        authority->running = (uint32_t)(party - authority->party);
        store_release(&party->go, load_relaxed(&party->go) + 1);
        fence_seq_cst();
        if (load_relaxed(&party->is_asleep))
                let_in = party;
}

/* Catches up with the machine's time, if that is whose pace it went at. */
static void end_idleness(struct authority *authority)
{
        uint64_t since_ns = load_relaxed(&authority->idle_since_ns);

        if (!since_ns)
                return;
        store_release(&authority->now_ns,
                      load_relaxed(&authority->now_ns) + machine_now_ns() - since_ns);
        store_release(&authority->idle_since_ns, 0);
}

/* Nobody is ready: to the next time that somebody waits for, unless a party turns out to be dead.
 */
static void leap(struct authority *authority, struct party *foreground)
{
        struct party *due = first_due(authority, false);

        if (!party_is_alive(due) || !party_is_alive(foreground)) {
                party_drop(authority, party_is_alive(due) ? foreground : due);
                return;
        }
        if (due->deadline_ns > load_relaxed(&authority->now_ns))
                store_release(&authority->now_ns, due->deadline_ns);
}

void authority_dispatch(struct authority *authority)
{
        if (authority->running != AUTHORITY_NOBODY)
                return;
        end_idleness(authority);
        begin_when_complete(authority);
        for (;;) {
                struct party *ready, *foreground;

                expire(authority);
                ready = first_ready(authority);
                if (ready && party_is_alive(ready)) {
                        let_run(authority, ready);
                        return;
                }
                if (ready) {
                        party_drop(authority, ready);
                        continue;
                }
                foreground = first_due(authority, true);
                if (!foreground)
                        break;
                leap(authority, foreground);
        }
        store_release(&authority->idle_since_ns, machine_now_ns());
}
