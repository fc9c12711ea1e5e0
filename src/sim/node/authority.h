/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual time of a node, for the threads of all its processes (clock=virtual).
 * common/time_authority.h has the contract; clock.h has the waits of the simulator itself.
 *
 * A thread that takes part is a *party*. One party runs at a time; the others wait for a time, for
 * a word, or for their turn. When the running party waits, the next ready one goes on; if none is
 * ready, time jumps to the earliest deadline. Parties that become ready at the same time go in the
 * order of their processes' start, then of their joining.
 *
 * No thread drives this: the party that begins to wait picks the next one, and the waiting parties
 * check the running one every few milliseconds of real time. It may have died (a robust mutex shows
 * that), or it may block or compute without the authority's knowledge: then it is *absent*, and
 * time goes on without it until its next call.
 *
 * It lies in the node's shared memory, all zero before authority_make(). The state of time and
 * parties is one record that changes in one step (cell.h): a process that stops or dies while it
 * picks the next party has changed nothing.
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
        PARTY_WAITING, /* for a time or a word */
        PARTY_READY,   /* waits for its turn */
        PARTY_RUNNING,
        PARTY_ABSENT, /* blocks or computes elsewhere */
};

struct party {
        uint32_t state; /* enum party_state */
        uint32_t generation;
        _Atomic uint32_t go; /* raised when it may run */
        _Atomic uint32_t is_woken;
        uint32_t is_background;
        uint32_t is_expected; /* its thread is being made and has not begun */

        /* Its thread; pid and tid in their own PID namespace. */
        int32_t pid, tid;
        uint64_t pid_namespace;
        uint64_t process_start; /* field 22 of /proc/PID/stat */
        uint64_t number;        /* among its process's parties, in the order of joining */

        uint64_t turn;        /* PARTY_READY: the lowest goes first */
        uint64_t deadline_ns; /* PARTY_WAITING; TIME_NEVER: no deadline */
        uint64_t word;        /* likewise; the word it waits for, from authority_word(); 0: none */
        /* or several words, any of which ends the wait: a bit for each; other words may have the
         * same bit */
        uint64_t words;
        uint64_t waits_since; /* likewise; the order in which a word's waiters came */

        /* What other parties saw while it ran, see authority_watch.c. */
        uint64_t seen_ns;      /* real time of the first check of its present sleep; 0: none */
        uint64_t seen_idle_ns; /* since when every check found it asleep; 0: the last one did not */
        uint64_t seen_switches; /* which sleep that is */
        uint64_t seen_ticks;    /* its processor time at the very first check */
};

/* The record. */
struct authority_state {
        struct cell_head head;
        _Atomic uint64_t now_ns;
        /* Real time since when no party waits for a time: virtual time then passes as the machine's
         * does. 0: some party waits for a time, or runs. */
        _Atomic uint64_t idle_since_ns;
        uint32_t running; /* a party, or AUTHORITY_NOBODY */
        uint32_t high;    /* parties at and above were never used */
        uint64_t next_turn;

        /* Time begins when this many processes take part, or (real time) at begin_by_ns. */
        uint32_t is_begun;
        uint32_t begin_with;
        uint64_t begin_by_ns;

        struct party party[AUTHORITY_PARTIES];
};

/* Where a party sleeps, and how others know that it lives; not part of any draft. */
struct party_place {
        pthread_mutex_t alive;      /* robust; held by its thread from joining to leaving */
        _Atomic uint32_t bell;      /* futex: rung after a commit that lets it run */
        _Atomic uint32_t is_asleep; /* asleep on the bell; written by its own thread */
};

struct authority {
        struct cell cell;
        uint32_t processor;       /* of the machine; all parties run there */
        _Atomic uint32_t watcher; /* the party that checks often: the last one that began to wait */
        struct party_place place[AUTHORITY_PARTIES];
        struct authority_state state[CELL_COPIES];
};

void authority_make(struct authority *authority);

uint64_t authority_now(struct authority *authority);

/* Returns when it is the calling thread's turn: joins, or ends an absence. A thread that has joined
 * keeps its role. `begin_with`: number of processes to wait for at the beginning. */
void authority_join(struct authority *authority, enum time_role role, uint32_t begin_with);
void authority_leave(struct authority *authority);

/* The number of a word: the same for every process that may wait on it; other words may have the
 * same number. A private word's number differs from those of other processes. Never 0. */
uint64_t authority_word(const _Atomic uint32_t *address, bool is_private);

/* Waits while *address is `expected` (NULL: always) until the deadline. False: the deadline has
 * passed. A thread that has not joined joins in the background for the wait. */
bool authority_wait(struct authority *authority, const _Atomic uint32_t *address, uint32_t expected,
                    uint64_t word, uint64_t deadline_ns);

/* The same for any of several words, in memory that processes share. */
bool authority_wait_any(struct authority *authority, const _Atomic uint32_t *const address[],
                        const uint32_t expected[], unsigned count, uint64_t deadline_ns);

void authority_wake(struct authority *authority, uint64_t word, uint32_t count);

/* Registers a thread that the caller is about to make, so that it takes part from now on and not
 * from when the machine starts it. Returns its party: the thread takes it with authority_begin();
 * if the thread is not made, the caller drops it. AUTHORITY_NOBODY: no room. */
uint32_t authority_expect(struct authority *authority, enum time_role role);
void authority_begin(struct authority *authority, uint32_t party);
void authority_forget(struct authority *authority, uint32_t party);

/* Finds dead parties, on behalf of readers, which take no part themselves. */
void authority_look(struct authority *authority);

#endif
