/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules for a session under a cap that uses several devices: programs on the devices may wait
 * for each other.
 *
 * A kernel that waits for a kernel on another device (a collective operation) is in flight, and
 * billed, while the other device's bucket fills. If each gate opened as soon as its own bucket
 * allows, the first device to open would be billed for waiting, would stay closed longer the next
 * time, and would make the other device wait. These waits would grow by a factor of 1/cap - 1 each
 * time. Two rules prevent that.
 *
 *      1. A gate that is closed because its bucket is empty opens when the buckets of all devices
 *         that the session uses now are half full. So there is room for some waits each time.
 *      2. While another device of the session has work in flight and this device has none, a closed
 *         gate lets one submission through at a time, because the work on the other device may wait
 *         for it. The submission is billed.
 *
 * By the second rule a device may be TOGETHER_DEBT_NS in debt, so a cap still holds over any longer
 * time. Sessions with turns are not affected: the scheduler opens all their devices together.
 *
 * The functions depend only on the pages and the given time, as in account.h.
 */
#ifndef ALIQUOT_SHIM_TIME_TOGETHER_H
#define ALIQUOT_SHIM_TIME_TOGETHER_H

#include "shim/time/account.h"

#define TOGETHER_DEBT_NS INT64_C(1000000000)

/* The state of the session's other devices that have a cap and are in use. */
struct together {
        bool is_used;    /* there is such a device */
        bool is_ready;   /* the buckets of these devices hold enough for their gates to open */
        uint64_t due_ns; /* if not: when they will hold enough if they stay unused */
        /* when work was last seen in flight on one of these devices; 0: none is in flight */
        uint64_t flying_ns;
};

/* Returns the state of the devices other than that of `account`. */
struct together together_look(const struct account *account, uint64_t now_ns);

/* Returns how much a bucket must hold for its gate to open. */
int64_t together_opening_ns(const struct together *others, const struct terms *terms);

/* Whether the second rule lets a submission through. This process has had nothing in flight
 * since `ended_ns`; the work on the other devices must have been seen in flight after that. */
bool together_may_pass(const struct account *account, const struct terms *terms, uint64_t ended_ns,
                       uint64_t now_ns);

#endif
