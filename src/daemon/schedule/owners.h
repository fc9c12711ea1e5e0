/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits how much processor time of the scheduler's thread the sessions of each owner use. An owner
 * is a user or a container (sessions_payer()).
 *
 * Sessions can wake the thread as often as they like, and can forge what they report. So the time
 * of each pass of the thread is charged to the owners of the sessions that caused it: sessions that
 * raised their bell, or were due to be read. Each owner has a token bucket of the thread's
 * processor time. It fills at a quarter of real time, up to OWNER_BURST_NS. While the bucket is
 * empty, the pages of the owner's sessions are not read, and the thread does not wait for their
 * bells. Sessions that get thousands of turns a second do not empty the bucket
 * (tests/attack/test_attack_bells.py).
 *
 * When the thread waits for a bell, the kernel reads the page of `slots` that has the bell, and the
 * session's owner can delay that by punching a hole into the file. An owner that did so once is
 * distrusted as long as the daemon runs: the bells of all its sessions are polled. This applies to
 * every user, including root.
 *
 * Times are nanoseconds of clock_now_ns(). The caller holds the scheduler's lock.
 */
#ifndef ALIQUOT_DAEMON_SCHEDULE_OWNERS_H
#define ALIQUOT_DAEMON_SCHEDULE_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/sessions.h"

#define OWNERS_MAX SESSIONS_MAX
#define OWNER_PART 4 /* an owner's bucket gets one nanosecond in this many nanoseconds */
#define OWNER_BURST_NS INT64_C(20000000)

struct owner {
        uint64_t payer; /* sessions_payer() */
        /* number of present sessions; an entry without any may be given to another owner */
        uint32_t sessions;
        bool is_distrusted; /* the bells of its sessions are polled */
        uint32_t bells;     /* number of its sessions whose bells the thread waits for */
        uint32_t caused;    /* number of its sessions that caused the present pass */
        int64_t level_ns;   /* level of its bucket; below 0: debt */
        uint64_t filled_ns; /* when level_ns was computed */
};

/* All owners. Set it to zeroes before the first call. */
struct owners {
        unsigned entries; /* one more than the last entry in use */
        unsigned caused;  /* sum of owner[].caused */
        struct owner owner[OWNERS_MAX];
};

/* Notes a new session of the owner `payer`. Returns the owner's index, which the session keeps
 * until owners_leave(). If the owner had sessions before, its old debt remains. */
unsigned owners_join(struct owners *owners, uint64_t payer, uint64_t now_ns);
void owners_leave(struct owners *owners, unsigned index);

/* Whether the owner has thread time left, so that its sessions are heard. */
bool owners_may(const struct owners *owners, unsigned index, uint64_t now_ns);

/* Notes that one of the owner's sessions caused this pass. */
void owners_cause(struct owners *owners, unsigned index);

/* Ends a pass that took `ns`, and charges it to the owners that caused it, in proportion to their
 * numbers of sessions that did. */
void owners_pay(struct owners *owners, uint64_t ns, uint64_t now_ns);

/* Charges `ns` to one owner. */
void owners_charge(struct owners *owners, unsigned index, uint64_t ns, uint64_t now_ns);

/* Distrusts an owner. False: it was distrusted before. */
bool owners_distrust(struct owners *owners, unsigned index);

#endif
