/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The owners of sessions, and how much of the scheduler's thread each may take.
 *
 * Sessions wake the thread as often as they like, and what they say is theirs to forge. So each
 * pass of the thread is charged to the owners of the sessions that it was for: those that rang, or
 * were due to be looked at. An owner has a token bucket of the thread's processor time: a quarter
 * of it, and OWNER_BURST_NS at once. While it is empty the owner's sessions are not heard, and
 * their bells are not waited for. Sessions that take turns thousands of times a second stay below
 * (tests/attack/test_attack_bells.py).
 *
 * Waiting for a bell reads the page that it is in, which a session's owner can delay by punching a
 * hole there. An owner that did so once is not trusted again for as long as the daemon runs: the
 * bells of all its sessions are polled. No user is exempt.
 *
 * Times are nanoseconds of clock_now_ns(). One thread's at a time (the scheduler's lock).
 */
#ifndef ALIQUOT_DAEMON_SCHEDULE_OWNERS_H
#define ALIQUOT_DAEMON_SCHEDULE_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/sessions.h"

#define OWNERS_MOST SESSIONS_MOST
#define OWNER_PART 4 /* one in so many nanoseconds is an owner's */
#define OWNER_BURST_NS INT64_C(20000000)

struct owner {
        uint32_t uid;
        uint32_t sessions;  /* that are there; without, another owner may get the entry */
        bool is_distrusted; /* its bells are not waited for */
        uint32_t bells;     /* that are waited for */
        uint32_t caused;    /* sessions that the present pass is for */
        int64_t level_ns;   /* of its bucket; below 0: debt */
        uint64_t filled_ns; /* when that was so */
};

/* The owners of sessions; all zeroes: there are none. */
struct owners {
        unsigned entries; /* one above the last in use */
        unsigned caused;  /* sum of the owners' */
        struct owner owner[OWNERS_MOST];
};

/* A session of `uid` came; the owner's index, which is the session's until it leaves. An owner that
 * comes back has the debt that it left with. */
unsigned owners_join(struct owners *owners, uint32_t uid, uint64_t now_ns);
void owners_leave(struct owners *owners, unsigned index);

/* Whether the owner's sessions are heard now. */
bool owners_may(const struct owners *owners, unsigned index, uint64_t now_ns);

/* One of its sessions took the thread's time in this pass. */
void owners_cause(struct owners *owners, unsigned index);

/* The pass is over and took so long: whoever caused it pays, each by its sessions. */
void owners_pay(struct owners *owners, uint64_t ns, uint64_t now_ns);

/* Charges time to one owner alone. */
void owners_charge(struct owners *owners, unsigned index, uint64_t ns, uint64_t now_ns);

/* Stops trusting an owner; false: it was distrusted before. */
bool owners_distrust(struct owners *owners, unsigned index);

#endif
