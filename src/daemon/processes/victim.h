/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends a signal to the processes of a session, and to no other process.
 *
 * A slot's entry about its owner is only the tenant's claim, and a pid can be reused before the
 * signal. So the process is first held by a descriptor and then checked: the slot's lock is held,
 * the process started when the slot says, it belongs to the session's owner, and the kernel shows
 * that it maps the session's `slots`. So a forged slot can at most name a process of the same user
 * in the same session.
 */
#ifndef ALIQUOT_DAEMON_PROCESSES_VICTIM_H
#define ALIQUOT_DAEMON_PROCESSES_VICTIM_H

#include <stdbool.h>

#include "daemon/processes/identity.h"
#include "store/usage.h"

/* The position of a walk over all processes; shared with the daemon, which watches its progress. */
#define VICTIM_PASSED 8u
struct victim_walk {
        _Atomic long from;              /* where the next walk begins */
        _Atomic uint32_t steps;         /* processes examined */
        _Atomic uint32_t at;            /* the pid that is being examined */
        _Atomic uint32_t sent;          /* signals sent */
        _Atomic uint32_t false_slots;   /* slots that name a process with other properties */
        uint32_t passed[VICTIM_PASSED]; /* pids to skip, because former walks got stuck there */
        uint32_t spared; /* the daemon's pid: the daemon and its searches map `slots` too */
};

struct victim_order {
        const struct liveness_file *slots;
        uint32_t owner_uid;
        int number;
        uint64_t most_ns; /* maximum processor time, also for one process with many mappings */
        struct victim_walk *walk;
        const char *container; /* whose users are the session's as well; NULL or "": none */
};

/* Signals the processes that the slots name, each once, even if many slots name it. Returns how
 * many got the signal. Ends after the time in the order. */
unsigned victim_signal_told(struct usage_process *list, unsigned count,
                            const struct victim_order *order);

/* Signals every process of the owner (or of the container) that maps `slots` or holds a lock on it,
 * whatever the slots say: a walk over all processes, for a session whose slots cannot be trusted.
 * Returns how many got the signal. Ends after the time in the order; the next walk continues with
 * the processes not reached. */
unsigned victim_signal_all(const struct victim_order *order);

/* Signals the process with this identity, if it still exists. */
bool victim_signal_identity(const struct identity *identity, int number);

#endif
