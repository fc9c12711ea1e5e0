/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The owners of sessions, and how much of the scheduler's thread each may take.
 *
 * Sessions wake the thread as often as they like, and can forge what they report. So each pass of
 * the thread is charged to the owners of the sessions that caused it: those that rang, or were due
 * for a look. An owner has a token bucket of the thread's processor time: a quarter of it, and
 * OWNER_BURST_NS at once. While the bucket is empty, the owner's sessions are not heard, and the
 * thread does not wait for their bells. Sessions that take turns thousands of times a second stay
 * within it (tests/attack/test_attack_bells.py).
 *
 * Waiting for a bell reads its page, and a session's owner can delay that by punching a hole there.
 * An owner that did so once is distrusted as long as the daemon runs: the bells of all its sessions
 * are polled. No user is exempt.
 *
 * Times are nanoseconds of clock_now_ns(). One thread at a time (the scheduler's lock).
 */
#ifndef ALIQUOT_DAEMON_SCHEDULE_OWNERS_H
#define ALIQUOT_DAEMON_SCHEDULE_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/sessions.h"

#define OWNERS_MAX SESSIONS_MAX
#define OWNER_PART 4 /* an owner gets one in this many nanoseconds */
#define OWNER_BURST_NS INT64_C(20000000)

struct owner {
        uint32_t uid;
        uint32_t sessions;  /* present sessions; without any, another owner may get the entry */
        bool is_distrusted; /* its bells are polled */
        uint32_t bells;     /* bells that the thread waits for */
        uint32_t caused;    /* sessions that caused the present pass */
        int64_t level_ns;   /* level of its bucket; below 0: debt */
        uint64_t filled_ns; /* when the level was computed */
};

/* All owners; all zeroes: there are none. */
struct owners {
        unsigned entries; /* one above the last entry in use */
        unsigned caused;  /* sum over the owners */
        struct owner owner[OWNERS_MAX];
};

/* Notes a new session of `uid`. Returns the owner's index, which the session keeps until it leaves.
 * An owner that comes back has its old debt. */
unsigned owners_join(struct owners *owners, uint32_t uid, uint64_t now_ns);
void owners_leave(struct owners *owners, unsigned index);

/* Whether the owner's sessions are heard now. */
bool owners_may(const struct owners *owners, unsigned index, uint64_t now_ns);

/* Notes that one of the owner's sessions caused this pass. */
void owners_cause(struct owners *owners, unsigned index);

/* Ends a pass that took `ns`: its owners pay, each by the number of its sessions. */
void owners_pay(struct owners *owners, uint64_t ns, uint64_t now_ns);

/* Charges time to one owner alone. */
void owners_charge(struct owners *owners, unsigned index, uint64_t ns, uint64_t now_ns);

/* Stops trusting an owner; false: it was distrusted before. */
bool owners_distrust(struct owners *owners, unsigned index);

#endif
