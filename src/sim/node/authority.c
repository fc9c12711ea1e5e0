/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking part in virtual time: joining, leaving, waiting, waking. See authority.h.
 *
 * A thread may reach the same authority through two libraries of a process, each with this code
 * and its own memory of the thread: whichever has none yet looks for the thread's party by its id.
 */
#include "sim/node/authority.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/atomic.h"
#include "sim/node/authority_internal.h"
#include "sim/node/robust.h"

#define SECOND_NS UINT64_C(1000000000)
/* How often a waiting party looks at the one that runs, in real time: the one that began to wait
 * last, and the others, which only see to it that there is such a one. */
#define WATCH_NS 2000000
#define WATCH_FOR_WATCHER_NS 50000000
/* Those who find no place among the parties: between two looks at the time, in real time. */
#define LOOK_NS 1000000
#define BEGIN_BY_NS (10 * SECOND_NS)

static __thread struct {
        struct authority *authority;
        uint32_t index, generation;
        int cancelling; /* how it stood before lock() */
} self __attribute__((tls_model("initial-exec")));

uint64_t machine_now_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

void authority_make(struct authority *authority)
{
        robust_init(&authority->lock);
        authority->running = AUTHORITY_NOBODY;
        store_relaxed(&authority->watcher, AUTHORITY_NOBODY);
        store_relaxed(&authority->now_ns, SECOND_NS);
        store_relaxed(&authority->idle_since_ns, machine_now_ns());
}

/* A thread is not cancelled with the lock in hand, though what is done under it may look into
 * /proc. */
static void lock(struct authority *authority)
{
        struct party *party = NULL;
        int cancelling;

        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
        /* A thread that sleeps on our lock does not block elsewhere. */
        if (self.authority == authority) {
                party = &authority->party[self.index];
                store_release(&party->is_calling, 1);
        }
        if (robust_lock(&authority->lock) == EOWNERDEAD) {
                authority_repair(authority);
                pthread_mutex_consistent(&authority->lock);
        }
        if (party)
                store_release(&party->is_calling, 0);
        self.cancelling = cancelling;
}

static void unlock(struct authority *authority)
{
        int cancelling = self.cancelling;

        pthread_mutex_unlock(&authority->lock);
        authority_wake_next();
        pthread_setcancelstate(cancelling, NULL);
}

/* -- parties -------------------------------------------------------------------------------------
 */

/* Its parent's parties are not its own. */
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

/* The calling thread's party, or NULL. */
static struct party *own_party(struct authority *authority)
{
        int32_t tid;

        if (self.authority == authority) {
                struct party *party = &authority->party[self.index];

                if (party->state != PARTY_FREE && party->generation == self.generation)
                        return party;
        }
        self.authority = NULL;
        tid = thread_id();
        for (uint32_t i = 0; i < authority->high; i++) {
                struct party *party = &authority->party[i];

                if (party->state == PARTY_FREE || party->tid != tid || party->is_expected ||
                    party->pid != getpid() || !party_is_in_sight(party) || !party_is_alive(party))
                        continue;
                self.authority = authority;
                self.index = i;
                self.generation = party->generation;
                return party;
        }
        return NULL;
}

/* One for this process, for no thread yet. NULL: no room. */
static struct party *party_take(struct authority *authority, enum time_role role)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        struct party *party = NULL;
        uint64_t number = 0;

        pthread_once(&once, watch_forks);
        for (uint32_t i = 0; i < AUTHORITY_PARTIES; i++) {
                struct party *at = &authority->party[i];

                if (i >= authority->high && party)
                        break;
                if (at->state == PARTY_FREE)
                        party = party ? party : at;
                else if (at->pid == getpid() && at->number > number)
                        number = at->number;
        }
        if (!party)
                return NULL;
        if (party - authority->party >= (ptrdiff_t)authority->high)
                authority->high = (uint32_t)(party - authority->party) + 1;
        party->generation++;
        party->is_background = role == TIME_BACKGROUND;
        party->is_expected = 1;
        party->tid = 0;
        party->number = number + 1;
        party->deadline_ns = TIME_NEVER;
        party->word = 0;
        party->words = 0;
        store_relaxed(&party->is_asleep, 0);
        store_relaxed(&party->is_calling, 0);
        robust_init(&party->alive);
        party_sign(party);
        return party;
}

/* From now on the calling thread is the party. */
static void party_be(struct authority *authority, struct party *party)
{
        party->tid = thread_id();
        party->is_expected = 0;
        (void)pthread_mutex_trylock(&party->alive); /* free: nobody else ever waits for it */
        self.authority = authority;
        self.index = (uint32_t)(party - authority->party);
        self.generation = party->generation;
}

/* Sleeps, without the lock, until it may run: until `go` is no longer as it was seen. */
static void rest(struct authority *authority, struct party *party, uint32_t seen)
{
        while (load_acquire(&party->go) == seen) {
                bool is_watcher =
                        load_relaxed(&authority->watcher) == (uint32_t)(party - authority->party);
                struct timespec span = { .tv_nsec = is_watcher ? WATCH_NS : WATCH_FOR_WATCHER_NS };
                bool is_over;

                store_relaxed(&party->is_asleep, 1);
                fence_seq_cst();
                is_over = load_acquire(&party->go) == seen &&
                          syscall(SYS_futex, &party->go, FUTEX_WAIT, seen, &span, NULL, 0) < 0 &&
                          errno == ETIMEDOUT;
                store_relaxed(&party->is_asleep, 0);
                if (!is_over)
                        continue;
                lock(authority);
                if (load_acquire(&party->go) == seen)
                        authority_watch(authority);
                unlock(authority);
        }
}

/* The party is in line or waits: gives the turn on, gives the lock back, and rests. */
static void yield_and_unlock(struct authority *authority, struct party *party)
{
        uint32_t index = (uint32_t)(party - authority->party);
        uint32_t seen = load_relaxed(&party->go);

        if (authority->running == index)
                authority->running = AUTHORITY_NOBODY;
        authority_dispatch(authority);
        if (load_relaxed(&party->go) == seen)
                store_relaxed(&authority->watcher, index);
        unlock(authority);
        rest(authority, party, seen);
}

static void leave(struct authority *authority, struct party *party)
{
        self.authority = NULL;
        pthread_mutex_unlock(&party->alive);
        party_drop(authority, party);
        authority_dispatch(authority);
}

/* -- calls ---------------------------------------------------------------------------------------
 */

uint64_t authority_now(struct authority *authority)
{
        uint64_t idle_since_ns = load_acquire(&authority->idle_since_ns), now_ns;

        if (!idle_since_ns)
                return load_acquire(&authority->now_ns);
        lock(authority);
        idle_since_ns = load_relaxed(&authority->idle_since_ns);
        now_ns = load_relaxed(&authority->now_ns);
        if (idle_since_ns)
                now_ns += machine_now_ns() - idle_since_ns;
        unlock(authority);
        return now_ns;
}

static bool has_foreground(const struct authority *authority)
{
        for (uint32_t i = 0; i < authority->high; i++) {
                if (authority->party[i].state != PARTY_FREE && !authority->party[i].is_background)
                        return true;
        }
        return false;
}

/* Before the first of a company of programs: those before it are gone. */
static void prepare_beginning(struct authority *authority, uint32_t begin_with)
{
        authority_sweep(authority);
        if (!has_foreground(authority)) {
                authority->is_begun = 0;
                authority->begin_with = 0;
                authority->begin_by_ns = machine_now_ns() + BEGIN_BY_NS;
        }
        if (!authority->is_begun && begin_with > authority->begin_with)
                authority->begin_with = begin_with;
}

void authority_join(struct authority *authority, enum time_role role, uint32_t begin_with)
{
        struct party *party;

        lock(authority);
        party = own_party(authority);
        if (party && party->state != PARTY_ABSENT) {
                unlock(authority);
                return;
        }
        if (!party) {
                if (role == TIME_FOREGROUND)
                        prepare_beginning(authority, begin_with);
                party = party_take(authority, role);
                if (!party) {
                        unlock(authority);
                        return;
                }
                party_be(authority, party);
        }
        party_make_ready(authority, party);
        yield_and_unlock(authority, party);
}

void authority_leave(struct authority *authority)
{
        struct party *party;

        lock(authority);
        party = own_party(authority);
        if (party)
                leave(authority, party);
        unlock(authority);
}

uint64_t authority_word(const _Atomic uint32_t *address, bool is_private)
{
        uint64_t at = (uint64_t)(uintptr_t)address;

        /* However a page is mapped, a word's place in it is the same. */
        if (!is_private)
                return (at & 4095) | 2;
        return (at ^ (uint64_t)getpid() << 42) | 1;
}

/* For one that found no place: real naps. */
static bool wait_outside(struct authority *authority, bool has_word, uint64_t deadline_ns)
{
        const struct timespec nap = { .tv_nsec = LOOK_NS };

        do
                syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &nap, NULL);
        while (!has_word && authority_now(authority) < deadline_ns);
        return authority_now(authority) < deadline_ns;
}

/* What a thread waits for, besides the time. */
struct awaited {
        unsigned count;
        const _Atomic uint32_t *const *address;
        const uint32_t *expected;
        uint64_t word, words; /* as in the party */
};

static bool has_changed(const struct awaited *awaited)
{
        for (unsigned i = 0; i < awaited->count; i++) {
                if (load_acquire(awaited->address[i]) != awaited->expected[i])
                        return true;
        }
        return false;
}

static bool wait_for(struct authority *authority, const struct awaited *awaited,
                     uint64_t deadline_ns)
{
        struct party *party;
        bool is_passing, is_woken;

        lock(authority);
        is_woken = has_changed(awaited);
        if (is_woken || deadline_ns <= load_relaxed(&authority->now_ns)) {
                unlock(authority);
                return is_woken;
        }
        party = own_party(authority);
        is_passing = !party;
        if (!party)
                party = party_take(authority, TIME_BACKGROUND);
        if (!party) {
                unlock(authority);
                return wait_outside(authority, awaited->count > 0, deadline_ns);
        }
        if (is_passing)
                party_be(authority, party);
        party->state = PARTY_WAITING;
        party->deadline_ns = deadline_ns;
        party->word = awaited->word;
        party->words = awaited->words;
        party->waits_since = authority->next_turn++;
        yield_and_unlock(authority, party);
        is_woken = party->is_woken;
        if (is_passing)
                authority_leave(authority);
        return is_woken;
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

/* Who has waited longest for the word, or NULL. */
static struct party *first_waiter(struct authority *authority, uint64_t word, bool is_private)
{
        struct party *first = NULL;
        uint64_t bit = is_private ? 0 : bit_of(word);

        for (uint32_t i = 0; i < authority->high; i++) {
                struct party *party = &authority->party[i];

                if (party->state != PARTY_WAITING || (party->word != word && !(party->words & bit)))
                        continue;
                if (!first || party->waits_since < first->waits_since)
                        first = party;
        }
        return first;
}

void authority_wake(struct authority *authority, uint64_t word, uint32_t count)
{
        bool is_private = word & 1;
        struct party *party;

        lock(authority);
        while ((count > 0 || !is_private) && (party = first_waiter(authority, word, is_private))) {
                party_make_ready(authority, party);
                party->is_woken = 1;
                count -= count > 0;
        }
        authority_dispatch(authority);
        unlock(authority);
}

uint32_t authority_expect(struct authority *authority)
{
        struct party *party;
        uint32_t index = AUTHORITY_NOBODY;

        lock(authority);
        party = party_take(authority, TIME_FOREGROUND);
        if (party) {
                index = (uint32_t)(party - authority->party);
                party_make_ready(authority, party);
                authority_dispatch(authority);
        }
        unlock(authority);
        return index;
}

void authority_begin(struct authority *authority, uint32_t index)
{
        struct party *party = &authority->party[index];
        uint32_t seen;

        lock(authority);
        party_be(authority, party);
        seen = load_relaxed(&party->go) - (party->state == PARTY_RUNNING);
        unlock(authority);
        rest(authority, party, seen);
}

void authority_forget(struct authority *authority, uint32_t index)
{
        lock(authority);
        party_drop(authority, &authority->party[index]);
        authority_dispatch(authority);
        unlock(authority);
}

void authority_look(struct authority *authority)
{
        lock(authority);
        authority_sweep(authority);
        authority_watch(authority);
        unlock(authority);
}
