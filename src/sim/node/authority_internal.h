/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the files of the authority. The lock is held wherever it is not said otherwise.
 */
#ifndef ALIQUOT_SIM_NODE_AUTHORITY_INTERNAL_H
#define ALIQUOT_SIM_NODE_AUTHORITY_INTERNAL_H

#include "sim/node/authority.h"

/* Real time. */
uint64_t machine_now_ns(void);

/* Lets the next one run, when nobody does; moves time when nobody is ready. */
void authority_dispatch(struct authority *authority);

/* Without the lock, behind everything that may have dispatched: wakes whom that let run. Not under
 * the lock, so that a process that is stopped is rarely stopped with the lock in hand; who dies in
 * between is made up for by the woken one's own look. */
void authority_wake_next(void);

/* Puts a party in line, behind all who are. */
void party_make_ready(struct authority *authority, struct party *party);

/* It no longer takes part. */
void party_drop(struct authority *authority, struct party *party);

/* Whether its thread is there: the kernel's word. */
bool party_is_alive(struct party *party);

/* Drops the dead. */
void authority_sweep(struct authority *authority);

/* Looks at the one that runs: the dead are dropped, and who does something else becomes absent. */
void authority_watch(struct authority *authority);

/* The caller has just got the lock from a dead owner. */
void authority_repair(struct authority *authority);

/* Whether a party's numbers mean in this process's PID namespace what they mean in its own. */
bool party_is_in_sight(const struct party *party);

/* Says of a party whose it is: this process's. */
void party_sign(struct party *party);

#endif
