/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identifies a process by what the kernel says of it.
 *
 *      held = identity_hold(pid)               // from here on the pid is not reused,
 *      identity_begin(pid, &identity, &maps)   // and identity_go_on() until it is true, as long as
 *      identity_is_there(held)                 // its process lives
 *
 * Nothing here relies on what the process says of itself, except the command's name. The session
 * whose `slots` the process maps is found by device and inode among those of all sessions, under
 * any file name and among any other mappings. If the daemon may not read a process (another user's,
 * for a user's own daemon), its mappings are unknown. Reading a process (identity_begin(),
 * _go_on(), _has_mapped()) can block the reader, so children of the daemon do it (aside.h). The
 * other functions do not block.
 *
 * Any thread; no state.
 */
#ifndef ALIQUOT_DAEMON_PROCESSES_IDENTITY_H
#define ALIQUOT_DAEMON_PROCESSES_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define IDENTITY_SESSIONS 4096u
#define IDENTITY_CGROUP_BYTES 1024u      /* longer than any entry of watch.managed_cgroups */
#define IDENTITY_CGROUP_SHOWN_BYTES 256u /* maximum in events and answers */

struct identity_file {
        uint64_t device, inode;
};

struct identity_session {
        struct identity_file slots;
        uint32_t owner_uid;
};

/* The files of all sessions, in the order of identity_compare(). */
struct identity_sessions {
        unsigned count;
        struct identity_session session[IDENTITY_SESSIONS];
};

/* Whose session's `slots` a process maps. A program may be tricked into mapping another user's
 * file, so its own user's file ranks higher. */
enum identity_rank { IDENTITY_OF_NONE, IDENTITY_OF_ANOTHERS, IDENTITY_OF_ITS_USERS };

struct identity {
        uint32_t pid;         /* in our PID namespace */
        uint32_t inner_pid;   /* in its own PID namespace */
        uint64_t pid_ns;      /* inode of that namespace; 0: unknown */
        uint64_t start_ticks; /* field 22 of its stat */
        uint64_t pidfd_inode; /* never reused since boot (Linux 6.9); 0: unknown */
        uint32_t uid;         /* the real one */
        bool has_maps;        /* its mappings could be read */
        bool is_partial; /* the reading continues: there may be other slots among its mappings */
        bool is_exiting; /* all its threads exit: its mappings go before its GPU memory does */
        enum identity_rank rank;    /* of the best file found */
        struct identity_file slots; /* the first file of that rank */
        char command[16];
        bool is_cgroup_hidden;              /* it could not be read */
        char cgroup[IDENTITY_CGROUP_BYTES]; /* of cgroup version 2, its beginning; "": none */
};

/* Holds the process: returns a pidfd, or its folder in /proc if there are no pidfds (Linux before
 * 5.3, or a filter bars them), which never refers to another process either; or a negative
 * errno. */
int identity_hold(uint32_t pid);
bool identity_is_there(int held);
bool identity_is_pidfd(
        int held); /* Whether it is a pidfd, which becomes readable at the end of the process. */

/* Sends a signal; returns whether it was sent. Without pidfd_send_signal() (Linux 5.1) it goes by
 * the pid, right after the process was seen alive: in between, the process could end and its pid be
 * reused. */
bool identity_signal(int held, uint32_t pid, int number);

/* The real user id of the process. False: there is no such process. */
bool identity_user(uint32_t pid, uint32_t *ret);

/* Reads all but the mappings. False: there is no such process any more. The caller closes `*maps`;
 * NULL: there are no mappings to read. */
bool identity_begin(uint32_t pid, struct identity *ret, FILE **maps);
/* Reads mappings until this thread has used this much processor time (clock_thread_ns()); the time
 * needed depends on the number of mappings. True: all are read. */
bool identity_go_on(struct identity *identity, FILE *maps, const struct identity_sessions *sessions,
                    uint64_t until_ns);

/* The order of files, for qsort() and bsearch(). */
int identity_compare(const void *a, const void *b);

/* Whether the process maps this very file, under any name: 1 or 0; -EAGAIN: not found within this
 * processor time (clock_thread_ns()). */
int identity_has_mapped(uint32_t pid, const struct identity_file *file, uint64_t until_ns);

/* Whether the held process is the one that `identity` was read from. Before Linux 6.9 this compares
 * start times, whose reading may block (aside.h). */
bool identity_is_same(int held, const struct identity *identity);

/* Whether it started before this moment (CLOCK_BOOTTIME). If so, and it lives, the pid was its own
 * at that moment. */
bool identity_was_there(const struct identity *identity, uint64_t boot_ns);

/* Whether its cgroup is one of these or below one: absolute paths, separated by commas. A cgroup
 * that could not be read counts as inside. */
bool identity_is_in(const struct identity *identity, const char *cgroups);

/* Whether pids here are the machine's: in another PID namespace the driver's pid may name another
 * process here. */
bool identity_is_host(void);

#endif
