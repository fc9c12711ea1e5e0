/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watch: finds processes and sessions that hold GPU memory that no ledger explains, and decides
 * what to do about them. It only decides; the caller acts.
 *
 *      watch_begin(&watch)                             // a poll of the GPUs begins
 *      watch_see(&watch, &policy, &sight)              // for each process and session found
 *      watch_end(&watch, is_whole)
 *      while (watch_next(&watch, &policy, now, &action))
 *              ...                                     // carry the action out
 *
 * There are three findings: a process without a session (a stranger); a process that holds more of
 * a GPU than its slot says; a session whose processes hold more than its ledger says, or more than
 * its limit.
 *
 * Ledger and driver cannot be read at one instant, so one poll never suffices. A program that keeps
 * the rules charges before it allocates, and frees before it uncharges. So while its ledger does
 * not change, the driver never shows more than the ledger and the tolerance. A poll therefore
 * counts much if the ledger has not changed since the last poll, and little if it has. The driver's
 * figure is compared with the higher of the two ledger values. One poll in which the memory is
 * explained clears the suspect. Suspects are polled again soon: watch_is_close().
 *
 * A session has a place of its own on each GPU, so a crowd of others cannot hide it. Processes of
 * sessions share one table, strangers another. In a table a user gets a case while the user has
 * fewer cases than are free: one user at most half of them, the next user half of the rest, and so
 * on. A process without a case is left out until it gets one. A session is always checked for the
 * sum that its processes hold, so processes that come and go, or are left out, hide nothing. While
 * one process of the session is guilty, the action goes to that process, and the session's score
 * stays at half.
 *
 * Each process is reported once, as long as it stays on the GPU. A clamp is lifted when no process
 * of the session is suspected any more: all memory is explained again, or its holder is gone. A
 * case is identified by pid and start time, so a reused pid is another case. The caller checks both
 * again before it acts.
 *
 * The caller owns all memory; nothing here allocates or blocks. One thread. Units: bytes;
 * nanoseconds of a clock that does not jump.
 */
#ifndef ALIQUOT_CORE_WATCH_H
#define ALIQUOT_CORE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#define WATCH_SESSIONS 4096u
#define WATCH_SHARES 16u
#define WATCH_CASES 1024u     /* of processes of sessions, and as many of strangers */
#define WATCH_NONE UINT64_MAX /* the driver does not report the bytes */

enum watch_answer { WATCH_IGNORE, WATCH_REPORT, WATCH_TERM, WATCH_KILL, WATCH_CLAMP };

struct watch_policy {
        uint32_t
                strangers; /* enum watch_answer, not WATCH_CLAMP; signals in managed cgroups only */
        uint32_t forged;   /* enum watch_answer */
        uint64_t tolerance_bytes; /* for each process and GPU: contexts, and what the driver adds */
        uint64_t grace_ns;        /* from SIGTERM to SIGKILL */
};

enum watch_charge { WATCH_STRANGER, WATCH_PROCESS, WATCH_SESSION };

/* What one poll found about a process or a session on a GPU. */
struct watch_sight {
        enum watch_charge charge;
        uint32_t pid; /* 0 for WATCH_SESSION, as is start_ticks */
        uint64_t start_ticks;
        uint32_t uid;        /* the stranger's user, or the session's owner */
        uint32_t place;      /* the session's place among all sessions, below WATCH_SESSIONS */
        uint8_t session[16]; /* the session's id; zero for WATCH_STRANGER */
        uint8_t device;      /* its index in the poll */
        /* WATCH_SESSION: the index among the session's own GPUs, below WATCH_SHARES */
        uint8_t share;
        bool is_managed; /* WATCH_STRANGER: it may be sent a signal */
        /* WATCH_SESSION: one of its processes is guilty, and the action goes to that process */
        bool is_answered;
        uint32_t processes;  /* WATCH_SESSION: number of its processes that hold memory */
        uint64_t held_bytes; /* by the driver; WATCH_NONE only for a stranger */
        uint64_t ledger_bytes;
        uint64_t ledger_mark; /* changes whenever the ledger changes */
};

struct watch_case {
        struct watch_sight sight; /* the latest sight; pid and session zero: the case is free */
        uint32_t score;
        bool is_seen;   /* found in this poll */
        bool is_told;   /* it was reported; never again */
        bool is_termed; /* it was sent SIGTERM, at termed_ns */
        bool is_killed;
        uint64_t termed_ns;
};

/* A table of cases. Users can cause any number of cases, so the table is bounded. */
struct watch_file {
        unsigned entries; /* one above the last case in use */
        struct watch_case one[WATCH_CASES];
};

/* What is known of a session, by its place. */
struct watch_session {
        uint8_t id[16]; /* of the session that was last there */
        bool is_clamped;
        struct watch_case on[WATCH_SHARES];
};

/* The state of the watch; a new one is all zeroes. Any code may read it. */
struct watch {
        struct watch_file processes, strangers;
        unsigned entries; /* one above the last session of which anything is known */
        struct watch_session session[WATCH_SESSIONS];
        unsigned left_out;     /* how many found no case in this poll; the last one's */
        uint32_t left_out_uid; /* user */
        unsigned next;         /* private */
};

enum watch_action_type {
        WATCH_TELL,    /* report it; .answer: what follows */
        WATCH_SIGTERM, /* to the process, or to all processes of the session on that GPU */
        WATCH_SIGKILL, /* the same */
        WATCH_SHUT,    /* the session .sight.session gets no more memory */
        WATCH_OPEN,    /* the session may get memory again; nothing else of .sight is set */
};

struct watch_action {
        enum watch_action_type type;
        enum watch_answer answer;
        struct watch_sight sight;
};

void watch_begin(struct watch *watch);

/* Records one sight. True: it is guilty, not only suspected or left out. */
bool watch_see(struct watch *watch, const struct watch_policy *policy,
               const struct watch_sight *sight);

/* Ends the poll. `is_whole`: all of every GPU was seen, so what was not seen is gone. */
void watch_end(struct watch *watch, bool is_whole);

bool watch_next(struct watch *watch, const struct watch_policy *policy, uint64_t now_ns,
                struct watch_action *ret);

/* Whether anything is suspected and not yet decided. */
bool watch_is_close(const struct watch *watch);

/* Whether the session at that place, or one of its processes, is suspected or guilty. */
bool watch_knows(const struct watch *watch, uint32_t place, const uint8_t session[16]);
bool watch_is_clamped(const struct watch *watch, uint32_t place, const uint8_t session[16]);

/* Notes that a report of this case failed; the next poll reports it. */
void watch_untold(struct watch *watch, const struct watch_sight *sight);

#endif
