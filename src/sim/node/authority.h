/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual time of a node, for the threads of all its processes (clock=virtual).
 * common/time_authority.h has the interface for programs; clock.h has the waits of the simulator
 * itself.
 *
 * A thread that takes part is a *party*. One party runs at a time; each of the others waits for a
 * time, for a word in memory, or for its turn to run. When the running party waits, the next ready
 * one runs; if none is ready, time jumps to the earliest deadline. Parties that become ready at the
 * same time run in the order in which their processes started, then in the order in which they
 * joined.
 *
 * No thread is in charge: the party that begins to wait picks the next one, and the waiting parties
 * check the running one every few milliseconds of real time. If the running party has died (a
 * robust mutex shows that), it is removed. If it blocks or computes outside the simulator, it
 * becomes *absent*: time continues without it until its next call.
 *
 * The authority is in the node's shared memory, which is all zero before authority_make(). Time and
 * the states of the parties are one record that changes in one step (cell.h), so a process that
 * stops or dies while it picks the next party has changed nothing.
 */
#ifndef ALIQUOT_SIM_NODE_AUTHORITY_H
#define ALIQUOT_SIM_NODE_AUTHORITY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/time_authority.h"
#include "sim/node/cell.h"

#define AUTHORITY_PARTIES 2048
#define AUTHORITY_NOBODY TIME_NOBODY

enum party_state {
        PARTY_FREE,
        PARTY_WAITING, /* waits for a time or a word */
        PARTY_READY,   /* waits for its turn to run */
        PARTY_RUNNING,
        PARTY_ABSENT, /* blocks or computes outside the simulator */
};

struct party {
        uint32_t state; /* enum party_state */
        uint32_t generation;
        _Atomic uint32_t go; /* raised when the party may run */
        _Atomic uint32_t is_woken;
        uint32_t is_background;
        uint32_t is_expected; /* its thread is being created and has not begun */

        /* The party's thread; pid and tid are numbers of its own PID namespace. */
        int32_t pid, tid;
        uint64_t pid_namespace;
        uint64_t process_start; /* start time of its process: field 22 of /proc/PID/stat */
        uint64_t number; /* number among the parties of its process, in the order of joining */

        uint64_t turn;        /* if PARTY_READY: the ready party with the lowest turn runs first */
        uint64_t deadline_ns; /* if PARTY_WAITING: end of the wait; TIME_NEVER: no deadline */
        /* if PARTY_WAITING: the word for which it waits, from authority_word(); 0: none */
        uint64_t word;
        /* If PARTY_WAITING for any of several words: one bit for each. Other words may have the
         * same bit. */
        uint64_t words;
        uint64_t waits_since; /* if PARTY_WAITING: orders the parties that wait for the same word */

        /* What other parties observed while this one ran, see authority_watch.c. */
        uint64_t seen_ns; /* real time of the first check during its current sleep; 0: none */
        /* time since which every check found it asleep; 0: the last check found it awake */
        uint64_t seen_idle_ns;
        /* its number of context switches: another number means another sleep */
        uint64_t seen_switches;
        uint64_t seen_ticks; /* its processor time at the first check */
};

/* Time and the parties, as one record (cell.h). */
struct authority_state {
        struct cell_head head;
        _Atomic uint64_t now_ns;
        /* Real time since which no party waits for a time: virtual time then passes as fast as real
         * time. 0: some party runs or waits for a time. */
        _Atomic uint64_t idle_since_ns;
        uint32_t running; /* index of the running party, or AUTHORITY_NOBODY */
        uint32_t high;    /* parties with this index or a higher one were never used */
        uint64_t next_turn;

        /* Time begins when `begin_with` processes take part, or at begin_by_ns (real time). */
        uint32_t is_begun;
        uint32_t begin_with;
        uint64_t begin_by_ns;

        struct party party[AUTHORITY_PARTIES];
};

/* Where a party sleeps, and how others see that its thread is alive. It is not part of the record,
 * so drafts do not copy it. */
struct party_place {
        pthread_mutex_t alive; /* robust; the party's thread holds it from joining to leaving */
        _Atomic uint32_t bell; /* futex word: raised after a commit that lets the party run */
        _Atomic uint32_t is_asleep; /* the thread sleeps on `bell`; written by the thread itself */
};

struct authority {
        struct cell cell;
        uint32_t processor; /* processor of the machine on which all parties run */
        /* the party that makes the frequent checks: the last one that began to wait */
        _Atomic uint32_t watcher;
        struct party_place place[AUTHORITY_PARTIES];
        struct authority_state state[CELL_COPIES];
};

void authority_make(struct authority *authority);

uint64_t authority_now(struct authority *authority);

/* Makes the calling thread a party, or ends its absence, and returns when its turn to run has come.
 * A thread that has already joined keeps its role. `begin_with`: number of processes for which time
 * waits at the beginning. */
void authority_join(struct authority *authority, enum time_role role, uint32_t begin_with);
void authority_leave(struct authority *authority);

/* Returns the number of a word, the same in every process that may wait on the word. Different
 * words may have the same number, but a private word (of one process) never has the number of a
 * word of another process. Never 0. */
uint64_t authority_word(const _Atomic uint32_t *address, bool is_private);

/* Waits while *address is `expected` (`address` NULL: always), at most until the deadline. False:
 * the deadline has passed. If the calling thread has not joined, it joins in the background role
 * for this wait. */
bool authority_wait(struct authority *authority, const _Atomic uint32_t *address, uint32_t expected,
                    uint64_t word, uint64_t deadline_ns);

/* Like authority_wait(), for any of several words in memory that processes share. */
bool authority_wait_any(struct authority *authority, const _Atomic uint32_t *const address[],
                        const uint32_t expected[], unsigned count, uint64_t deadline_ns);

void authority_wake(struct authority *authority, uint64_t word, uint32_t count);

/* Registers a thread that the caller is about to create, so that it takes part from now on, not
 * only once the kernel has started it. Returns the thread's party, or AUTHORITY_NOBODY if there is
 * no room. The new thread calls authority_begin() with the party; if the thread is not created, the
 * caller calls authority_forget(). */
uint32_t authority_expect(struct authority *authority, enum time_role role);
void authority_begin(struct authority *authority, uint32_t party);
void authority_forget(struct authority *authority, uint32_t party);

/* Finds dead parties. For processes that only read the node and are no parties themselves. */
void authority_look(struct authority *authority);

#endif
