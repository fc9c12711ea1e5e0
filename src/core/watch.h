/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watch: finds processes and sessions that hold more GPU memory than their ledger explains, and
 * decides what to do about them. It only decides; the caller acts.
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
 * The ledger and the driver cannot be read at the same instant, so one poll never suffices. A
 * program that keeps the rules charges before it allocates, and frees before it gives the charge
 * back. So while its ledger does not change, the driver never shows more than the ledger plus the
 * tolerance. Therefore a poll adds much to a suspect's score if the ledger has not changed since
 * the last poll, and little if it has. The driver's figure is compared with the higher of the
 * ledger's values in the two polls. One poll in which the memory is explained sets the score to 0.
 * A suspect whose score reaches the threshold is guilty. While there are suspects the caller polls
 * often: watch_is_close().
 *
 * The records are bounded. Each session has a record of its own on each GPU, so no number of other
 * sessions can displace it. A suspected process needs a free entry (a case) in a table: one table
 * is for processes of sessions, the other for strangers. A user gets another case only while the
 * user has fewer cases than are free. So the first user can have at most half of the cases, the
 * next user half of the rest, and so on. A process that gets no case is left out until it gets one.
 * A session is always checked for the sum that its processes hold, so processes that come and go,
 * or are left out, hide nothing. While one process of a session is guilty, the action is taken
 * against that process, and the session's score stays at half of the threshold.
 *
 * Each process is reported once, as long as it stays on the GPU. A clamp (the session gets no more
 * memory) is lifted when no process of the session is suspected any more: all memory is explained
 * again, or the process that held it is gone. A case is identified by pid and start time, so a
 * reused pid is another case. The caller checks pid and start time again before it acts.
 *
 * The caller owns all memory; no function allocates or blocks. One thread. Sizes are in bytes,
 * times in nanoseconds of a monotonic clock.
 */
#ifndef ALIQUOT_CORE_WATCH_H
#define ALIQUOT_CORE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#define WATCH_SESSIONS 4096u
#define WATCH_SHARES 16u
#define WATCH_CASES 1024u     /* size of each of the two tables, see struct watch */
#define WATCH_NONE UINT64_MAX /* the driver does not report the bytes */

enum watch_answer { WATCH_IGNORE, WATCH_REPORT, WATCH_TERM, WATCH_KILL, WATCH_CLAMP };

struct watch_policy {
        /* enum watch_answer for strangers, not WATCH_CLAMP; signals are sent in managed
         * cgroups only */
        uint32_t strangers;
        /* enum watch_answer for processes and sessions that hold more than their ledger says */
        uint32_t forged;
        /* for each process and GPU: the memory of contexts, and what else the driver adds */
        uint64_t tolerance_bytes;
        uint64_t grace_ns; /* time from SIGTERM to SIGKILL */
};

enum watch_charge { WATCH_STRANGER, WATCH_PROCESS, WATCH_SESSION };

/* What one poll found about a process or a session on a GPU. */
struct watch_sight {
        enum watch_charge charge;
        uint32_t pid; /* the process; pid and start_ticks are 0 for WATCH_SESSION */
        uint64_t start_ticks;
        uint64_t payer; /* the stranger's uid, or sessions_payer() of the session */
        /* the session's index in the caller's table of sessions, below WATCH_SESSIONS */
        uint32_t place;
        uint8_t session[16]; /* the session's id; zero for WATCH_STRANGER */
        uint8_t device;      /* index of the GPU in the poll */
        /* WATCH_SESSION: index of the GPU among the session's own GPUs, below WATCH_SHARES */
        uint8_t share;
        bool is_managed; /* WATCH_STRANGER: the process may be sent a signal */
        /* WATCH_SESSION: a process of the session is guilty, and the action is taken against that
         * process */
        bool is_answered;
        uint32_t processes;  /* WATCH_SESSION: number of the session's processes that hold memory */
        uint64_t held_bytes; /* bytes that the driver shows; WATCH_NONE only for a stranger */
        uint64_t ledger_bytes;
        uint64_t ledger_mark; /* a value that changes whenever the ledger changes */
};

struct watch_case {
        /* the latest sight; if its pid and session are zero, the case is free */
        struct watch_sight sight;
        uint32_t score;
        bool is_seen;   /* found in the present poll */
        bool is_told;   /* the case was reported, and is not reported again */
        bool is_termed; /* SIGTERM was sent, at termed_ns */
        bool is_killed;
        uint64_t termed_ns;
};

/* A table of cases. Users can cause any number of cases, so its size is fixed. */
struct watch_file {
        unsigned entries; /* one above the last case in use */
        struct watch_case one[WATCH_CASES];
};

/* What is known of one session; the array is indexed by `place`. */
struct watch_session {
        uint8_t id[16]; /* id of the session that last had this place */
        bool is_clamped;
        struct watch_case on[WATCH_SHARES];
};

/* The state of the watch; a new one is all zeroes. Any code may read it. */
struct watch {
        struct watch_file processes, strangers;
        unsigned entries; /* one above the highest place of which anything is known */
        struct watch_session session[WATCH_SESSIONS];
        unsigned left_out;       /* number of suspects that got no case in this poll */
        uint64_t left_out_payer; /* that of the last of them */
        unsigned next;           /* private: index of the next case for watch_next() */
};

enum watch_action_type {
        WATCH_TELL, /* report the finding; .answer says what follows */
        /* send SIGTERM to the process, or to all processes of the session on that GPU */
        WATCH_SIGTERM,
        /* send SIGKILL to the process, or to all processes of the session on that GPU */
        WATCH_SIGKILL,
        WATCH_SHUT, /* give the session .sight.session no more memory */
        WATCH_OPEN, /* the session may get memory again; of .sight only session and place are set */
};

struct watch_action {
        enum watch_action_type type;
        enum watch_answer answer;
        struct watch_sight sight;
};

void watch_begin(struct watch *watch);

/* Records one sight. Returns true if its subject is guilty, false if it is only suspected, left
 * out or clear. */
bool watch_see(struct watch *watch, const struct watch_policy *policy,
               const struct watch_sight *sight);

/* Ends the poll. `is_whole`: the poll covered all GPUs completely, so what it did not find is
 * gone. */
void watch_end(struct watch *watch, bool is_whole);

bool watch_next(struct watch *watch, const struct watch_policy *policy, uint64_t now_ns,
                struct watch_action *ret);

/* Whether there is a suspect whose guilt is not decided yet. */
bool watch_is_close(const struct watch *watch);

/* Whether the session at `place`, or one of its processes, is suspected or guilty. */
bool watch_knows(const struct watch *watch, uint32_t place, const uint8_t session[16]);
bool watch_is_clamped(const struct watch *watch, uint32_t place, const uint8_t session[16]);

/* Notes that the report about `sight` failed, so that the next poll reports it again. */
void watch_untold(struct watch *watch, const struct watch_sight *sight);

#endif
