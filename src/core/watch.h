/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who holds memory of a GPU that no ledger explains, and what is done about it. Decisions only.
 *
 *      watch_begin(&watch)                             // a look at the GPUs begins
 *      watch_see(&watch, &policy, &sight)              // everybody on them whom it found
 *      watch_end(&watch, is_whole)
 *      while (watch_next(&watch, &policy, now, &action))
 *              ...                                     // what is to be done, one by one
 *
 * Three charges: a process of no session (a stranger); a process that holds more of a GPU than its
 * slot says; a session whose processes hold more than its ledger says, or than its limit, whatever
 * the ledger says.
 *
 * Ledger and driver cannot be read at one instant, so a look alone convicts nobody. A program that
 * keeps to its session charges before it takes and gives back before it uncharges: while its ledger
 * stands still, the driver never shows more than the ledger and the tolerance. So a look weighs
 * much if the ledger has not moved since the look before, and little if it has; what the driver
 * shows is compared with the higher of the two; and one look in which it is explained acquits.
 * Suspects are looked at again soon: watch_is_close().
 *
 * A session has a place of its own on each GPU, so no crowd keeps it from being found. Processes of
 * sessions share a file, and strangers another. There a user gets a place while it has fewer than
 * are free: half of them, the next user half of what is left, and so on. Who finds none is left out
 * until it does. Whatever its processes are suspected of, a session is asked for what they hold
 * together: processes that come and go, or are left out, hide nothing in it. While one of them is
 * guilty, that one answers, and the session is at most half convicted.
 *
 * Each process is told of once, as long as it stays on the GPU. A clamp is lifted when nobody of
 * the session is suspected any more: all that is held is explained again, or who held it is gone. A
 * case is known by pid and start: a pid that is used again is another case. Whoever carries an
 * action out makes sure of that once more.
 *
 * All memory is the caller's; nothing here allocates or blocks. One thread. Units: bytes;
 * nanoseconds of a clock that does not jump.
 */
#ifndef ALIQUOT_CORE_WATCH_H
#define ALIQUOT_CORE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#define WATCH_SESSIONS 4096u
#define WATCH_SHARES 16u
#define WATCH_CASES 1024u     /* of processes of sessions, and as many of strangers */
#define WATCH_NONE UINT64_MAX /* bytes that the driver does not tell */

enum watch_answer { WATCH_IGNORE, WATCH_REPORT, WATCH_TERM, WATCH_KILL, WATCH_CLAMP };

struct watch_policy {
        uint32_t
                strangers; /* enum watch_answer, not WATCH_CLAMP; signals in managed cgroups only */
        uint32_t forged;   /* enum watch_answer */
        uint64_t tolerance_bytes; /* of each process and GPU: contexts, and what the driver adds */
        uint64_t grace_ns;        /* from SIGTERM to SIGKILL */
};

enum watch_charge { WATCH_STRANGER, WATCH_PROCESS, WATCH_SESSION };

/* What one look found about somebody on a GPU. */
struct watch_sight {
        enum watch_charge charge;
        uint32_t pid; /* 0 of WATCH_SESSION, as start_ticks */
        uint64_t start_ticks;
        uint32_t uid;        /* the stranger's; of a session its owner's */
        uint32_t place;      /* the session's among all, below WATCH_SESSIONS */
        uint8_t session[16]; /* its id; zero of WATCH_STRANGER */
        uint8_t device;      /* its place in the look */
        uint8_t share;       /* WATCH_SESSION: which of its own GPUs, below WATCH_SHARES */
        bool is_managed;     /* WATCH_STRANGER: it may be sent a signal */
        bool is_answered;    /* WATCH_SESSION: a process of it is guilty, and answers for it */
        uint32_t processes;  /* WATCH_SESSION: how many hold it */
        uint64_t held_bytes; /* by the driver; WATCH_NONE of a stranger only */
        uint64_t ledger_bytes;
        uint64_t ledger_mark; /* differs whenever the ledger moved */
};

struct watch_case {
        struct watch_sight sight; /* the latest; pid and session zero: the case is free */
        uint32_t score;
        bool is_seen;   /* in this look */
        bool is_told;   /* once and for all */
        bool is_termed; /* and it has had SIGTERM at termed_ns */
        bool is_killed;
        uint64_t termed_ns;
};

/* Cases of which users can cause any number, so that they share a bounded table. */
struct watch_file {
        unsigned entries; /* one above the last case that is not free */
        struct watch_case one[WATCH_CASES];
};

/* What is known of a session, by its place. */
struct watch_session {
        uint8_t id[16]; /* of who was last there */
        bool is_clamped;
        struct watch_case on[WATCH_SHARES];
};

/* The state of the watch; a new one is all zeroes. Anybody may read it. */
struct watch {
        struct watch_file processes, strangers;
        unsigned entries; /* one above the last session of which something is known */
        struct watch_session session[WATCH_SESSIONS];
        unsigned left_out;     /* who found no room in this look; the last one's */
        uint32_t left_out_uid; /* user */
        unsigned next;         /* of no interest outside */
};

enum watch_action_type {
        WATCH_TELL,    /* .answer: what comes of it */
        WATCH_SIGTERM, /* to the process, or to all of the session's on that GPU */
        WATCH_SIGKILL, /* the same */
        WATCH_SHUT,    /* .sight.session gets no more memory */
        WATCH_OPEN,    /* .sight.session gets it again; nothing else of .sight is set */
};

struct watch_action {
        enum watch_action_type type;
        enum watch_answer answer;
        struct watch_sight sight;
};

void watch_begin(struct watch *watch);

/* Whether who was seen is guilty. Who is only suspected, or left out, is not. */
bool watch_see(struct watch *watch, const struct watch_policy *policy,
               const struct watch_sight *sight);

/* `is_whole`: everybody on every GPU was seen; who was not is gone. */
void watch_end(struct watch *watch, bool is_whole);

bool watch_next(struct watch *watch, const struct watch_policy *policy, uint64_t now_ns,
                struct watch_action *ret);

/* Whether somebody is suspected and not yet known to be guilty or not. */
bool watch_is_close(const struct watch *watch);

/* Whether the session at that place, or a process of it, is suspected or known. */
bool watch_knows(const struct watch *watch, uint32_t place, const uint8_t session[16]);
bool watch_is_clamped(const struct watch *watch, uint32_t place, const uint8_t session[16]);

/* A case that was not told of, for it could not be: the next look does. */
void watch_untold(struct watch *watch, const struct watch_sight *sight);

#endif
