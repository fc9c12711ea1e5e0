/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules for several devices of a session under a cap: programs on them may wait for each other.
 *
 * A kernel that waits for a kernel on another device (a collective operation) is in flight, and
 * billed, while the other device's bucket fills. If each gate opened as soon as its own bucket
 * allows, the first device to open would be billed for waiting, would stay shut longer the next
 * time, and would make the other wait. These waits grow by a factor of 1/cap - 1 each time. Two
 * rules prevent that.
 *
 *      1. A gate that is shut for want of GPU time opens when the buckets of all devices that the
 *         session uses now are half full: so every opening has some waits.
 *      2. While another device of the session has work in flight and this one has none, a shut gate
 *         lets one submission through at a time, because the other work may wait for it. It is
 * billed.
 *
 * By the second rule a device may be TOGETHER_DEBT_NS in debt, so a cap still holds over any longer
 * time. Sessions with turns are not affected: the scheduler opens all their devices together.
 *
 * Pure except for the pages, as account.h.
 */
#ifndef ALIQUOT_SHIM_TIME_TOGETHER_H
#define ALIQUOT_SHIM_TIME_TOGETHER_H

#include "shim/time/account.h"

#define TOGETHER_DEBT_NS INT64_C(1000000000)

/* The session's other devices that have a cap and are in use. */
struct together {
        bool is_used;       /* there is one */
        bool is_ready;      /* their buckets hold enough, ... */
        uint64_t due_ns;    /* ... or will hold enough then, if they stay unused */
        uint64_t flying_ns; /* when work was last seen in flight on one of them; 0: on none */
};

struct together together_look(const struct account *account, uint64_t now_ns);

/* How much a bucket must hold for its gate to open. */
int64_t together_opening_ns(const struct together *others, const struct terms *terms);

/* Whether the second rule lets a submission through. Nothing of this process is in flight since
 * `ended_ns`, so the other devices' work was seen without this device's. */
bool together_may_pass(const struct account *account, const struct terms *terms, uint64_t ended_ns,
                       uint64_t now_ns);

#endif
