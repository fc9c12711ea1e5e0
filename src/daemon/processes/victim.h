/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends a signal to the processes of a session, and to no other process.
 *
 * A tenant can write any pid into a slot, and a pid can be reused before the signal is sent. So the
 * process is first opened (identity_hold()) and then checked: the slot's lock is held, the process
 * has the start time in the slot, it belongs to the session's owner (or is in the session's
 * container), and it maps the session's `slots` as the kernel reports. So a forged slot can at most
 * name a process of the same user, or of the same container, in the same session.
 */
#ifndef ALIQUOT_DAEMON_PROCESSES_VICTIM_H
#define ALIQUOT_DAEMON_PROCESSES_VICTIM_H

#include <stdbool.h>

#include "daemon/processes/identity.h"
#include "store/usage.h"

/* Position and progress of a search through all processes; shared with the daemon, which watches
 * the progress. */
#define VICTIM_PASSED 8u
struct victim_walk {
        _Atomic long from;      /* offset in /proc at which the next search begins */
        _Atomic uint32_t steps; /* number of processes examined */
        _Atomic uint32_t at;    /* pid of the process that is being examined */
        _Atomic uint32_t sent;  /* number of signals sent */
        /* number of slots that name a process with other properties */
        _Atomic uint32_t false_slots;
        /* pids to skip, because earlier searches got stuck at them */
        uint32_t passed[VICTIM_PASSED];
        /* the daemon's pid, which is skipped: the daemon maps `slots` too, as do its other
         * searches */
        uint32_t spared;
};

struct victim_order {
        const struct liveness_file *slots;
        uint32_t owner_uid;
        int number;
        uint64_t max_ns; /* maximum processor time, even for one process with many mappings */
        struct victim_walk *walk;
        /* id of the container whose processes, of any user id, are the session's, and no others;
         * NULL or "": none */
        const char *container;
};

/* Signals the processes that the slots in `list` name, each once even if many slots name it.
 * Returns how many processes got the signal. Ends after order->max_ns. */
unsigned victim_signal_told(struct usage_process *list, unsigned count,
                            const struct victim_order *order);

/* Signals every process of the owner (or of the container) that maps `slots` or holds a lock on it.
 * It searches all processes instead of reading the slots, for a session whose slots cannot be
 * trusted. Returns how many processes got the signal. Ends after order->max_ns; the next call
 * continues with the processes not reached. */
unsigned victim_signal_all(const struct victim_order *order);

/* Signals the process with this identity if it still exists. Returns whether it was sent. */
bool victim_signal_identity(const struct identity *identity, int number);

#endif
