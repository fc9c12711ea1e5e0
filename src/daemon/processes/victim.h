/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A signal to a process of a session, and to no other.
 *
 * What a slot says of its owner is the tenant's own claim, and a pid can be another's by the time
 * it is used. So the process is held by a descriptor first, and then has to be the one: the
 * slot's lock is held, it started when the slot says, it is the session owner's, and the kernel
 * shows that it has the session's `slots` mapped. Whoever forges a slot can at most hit a process
 * that is in the session and theirs anyway.
 */
#ifndef ALIQUOT_DAEMON_PROCESSES_VICTIM_H
#define ALIQUOT_DAEMON_PROCESSES_VICTIM_H

#include <stdbool.h>

#include "daemon/processes/identity.h"
#include "store/usage.h"

/* Where a walk over all processes is: shared with the daemon, which watches its progress. */
#define VICTIM_PASSED 8u
struct victim_walk {
        _Atomic long from;              /* where the next one begins */
        _Atomic uint32_t steps;         /* processes that were looked at */
        _Atomic uint32_t at;            /* the pid that is looked at now */
        _Atomic uint32_t sent;          /* signals */
        _Atomic uint32_t false_slots;   /* that name a process which is not what they say */
        uint32_t passed[VICTIM_PASSED]; /* pids that are not looked at: former walks stood there */
        uint32_t spared; /* the daemon's pid: it and its searches have `slots` mapped, too */
};

struct victim_order {
        const struct liveness_file *slots;
        uint32_t owner_uid;
        int number;
        uint64_t most_ns; /* of processor time, also for one process with many mappings */
        struct victim_walk *walk;
};

/* To those that slots tell of; each once, also where many tell of one. Returns how many got it. It
 * ends after as long as the order says. */
unsigned victim_signal_told(struct usage_process *list, unsigned count,
                            const struct victim_order *order);

/* The same for every process of the owner that has `slots` mapped, or holds a lock on it, whatever
 * any slot says: a walk over all processes, for a session whose slots cannot be believed. Returns
 * how many got it. It ends after as long, and goes on where the last one ended: processes that were
 * not reached are looked at by the next walks. */
unsigned victim_signal_all(const struct victim_order *order);

/* To the process that this is the identity of, if it is still there. */
bool victim_signal_identity(const struct identity *identity, int number);

#endif
