/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual time of a node, for the threads of all its processes (clock=virtual). The contract is in
 * common/time_authority.h, and who in the simulator waits how is in clock.h.
 *
 * A thread that takes part is a *party*. One party runs at a time, the others wait: for a time, for
 * a word, or for their turn. When the one that runs waits, the next whose turn it is goes on; when
 * there is none, time leaps to the earliest deadline. Those who become ready together go in the
 * order of their processes' start, then of their joining.
 *
 * Nobody drives this: the party that waits decides who is next, and those who wait look every few
 * milliseconds of real time at the one that runs. It may have died (a robust mutex tells), or
 * block or compute where the authority does not see it: then it is *absent*, and time goes on
 * without it until its next call.
 *
 * Lies in the node's shared memory; all zero but for authority_make(). What is known of time and of
 * the parties is one record that changes in one step (cell.h): who is stopped or dies while it
 * decides who is next has decided nothing.
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
        PARTY_READY,   /* for its turn */
        PARTY_RUNNING,
        PARTY_ABSENT, /* blocks or computes elsewhere */
};

struct party {
        uint32_t state; /* enum party_state */
        uint32_t generation;
        _Atomic uint32_t go; /* bumped when it may run */
        _Atomic uint32_t is_woken;
        uint32_t is_background;
        uint32_t is_expected; /* its thread is being made and has not begun */

        /* Who it is; pid and tid as their own PID namespace has them. */
        int32_t pid, tid;
        uint64_t pid_namespace;
        uint64_t process_start; /* field 22 of /proc/PID/stat */
        uint64_t number;        /* of its process's parties, in the order of joining */

        uint64_t turn;        /* PARTY_READY: those with the lowest go first */
        uint64_t deadline_ns; /* PARTY_WAITING; TIME_NEVER: none */
        uint64_t word;        /* likewise; what it waits for, as authority_word() has it; 0: none */
        uint64_t words;       /* or what it waits for any of: a bit for each, which others share */
        uint64_t waits_since; /* likewise; the order in which a word's waiters came */

        /* What others saw of it while it ran, see authority_watch.c. */
        uint64_t seen_ns;       /* real time of the first look at the sleep it is in; 0: none */
        uint64_t seen_idle_ns;  /* since when every look found it asleep; 0: the last did not */
        uint64_t seen_switches; /* which sleep that is */
        uint64_t seen_ticks;    /* processor time it had at the first look at all */
};

/* The record. */
struct authority_state {
        struct cell_head head;
        _Atomic uint64_t now_ns;
        /* Real time since when nobody waits for a time: virtual time then goes by as the machine's.
         * 0: somebody does, or runs. */
        _Atomic uint64_t idle_since_ns;
        uint32_t running; /* a party, or AUTHORITY_NOBODY */
        uint32_t high;    /* parties at and above were never used */
        uint64_t next_turn;

        /* Time begins when so many processes take part, or (real time) at begin_by_ns. */
        uint32_t is_begun;
        uint32_t begin_with;
        uint64_t begin_by_ns;

        struct party party[AUTHORITY_PARTIES];
};

/* Where a party sleeps and how it is known to live, whatever becomes of drafts. */
struct party_place {
        pthread_mutex_t alive;      /* robust; its thread holds it, from joining to leaving */
        _Atomic uint32_t bell;      /* futex: rung behind a commit that lets it run */
        _Atomic uint32_t is_asleep; /* on it; its own thread */
};

struct authority {
        struct cell cell;
        uint32_t processor;       /* of the machine; all parties run there */
        _Atomic uint32_t watcher; /* who looks often; the latest who waits */
        struct party_place place[AUTHORITY_PARTIES];
        struct authority_state state[CELL_COPIES];
};

void authority_make(struct authority *authority);

uint64_t authority_now(struct authority *authority);

/* Returns when it is the calling thread's turn: joins, or is no longer absent. A thread that has
 * joined keeps its role. `begin_with`: processes to wait for at the beginning. */
void authority_join(struct authority *authority, enum time_role role, uint32_t begin_with);
void authority_leave(struct authority *authority);

/* The same word is the same number for whoever may wait on it; others may have it, too. A private
 * one is told from those of other processes. Never 0. */
uint64_t authority_word(const _Atomic uint32_t *address, bool is_private);

/* Waits while *address is `expected` (NULL: whatever happens) until the deadline. False: it has
 * passed. Joins in the background for as long as it takes when the thread has not joined. */
bool authority_wait(struct authority *authority, const _Atomic uint32_t *address, uint32_t expected,
                    uint64_t word, uint64_t deadline_ns);

/* The same for any of several words, in memory that processes share. */
bool authority_wait_any(struct authority *authority, const _Atomic uint32_t *const address[],
                        const uint32_t expected[], unsigned count, uint64_t deadline_ns);

void authority_wake(struct authority *authority, uint64_t word, uint32_t count);

/* A thread that the caller is about to make takes part from now on, not from when the machine
 * gets round to starting it: its party, which the thread itself takes with authority_begin()
 * and, if it never comes to be, the maker drops. AUTHORITY_NOBODY: no room. */
uint32_t authority_expect(struct authority *authority, enum time_role role);
void authority_begin(struct authority *authority, uint32_t party);
void authority_forget(struct authority *authority, uint32_t party);

/* Finds the dead among those who take part. For readers, which have nobody to do it for them. */
void authority_look(struct authority *authority);

#endif
