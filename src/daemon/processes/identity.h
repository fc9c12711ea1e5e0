/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identifies a process by what the kernel reports about it.
 *
 *      held = identity_hold(pid)               // `held` never means another process
 *      identity_begin(pid, &identity, &maps)   // reads all but the mappings
 *      identity_go_on(&identity, maps, ...)    // repeatedly, until it returns true
 *      identity_is_there(held)                 // if true, all was read from that process
 *
 * Except for the command's name, nothing here is chosen by the process. A process's session is the
 * one whose `slots` the process maps. That file is found by device and inode, whatever its name,
 * and whatever else the process maps. If the daemon may not read a process (a daemon that is not
 * root, and a process of another user), the process's mappings are unknown. identity_begin(),
 * identity_go_on() and identity_has_mapped() can block, so children of the daemon call them
 * (aside.h). The other functions do not block, except where they say so.
 *
 * Any thread may call these; there is no state.
 */
#ifndef ALIQUOT_DAEMON_PROCESSES_IDENTITY_H
#define ALIQUOT_DAEMON_PROCESSES_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define IDENTITY_SESSIONS 4096u
#define IDENTITY_CGROUP_BYTES 1024u /* longer than any path in watch.managed_cgroups */
/* maximum length of a cgroup's path in events and answers */
#define IDENTITY_CGROUP_SHOWN_BYTES 256u

struct identity_file {
        uint64_t device, inode;
};

struct identity_session {
        struct identity_file slots;
        uint32_t owner_uid;
};

/* The `slots` files of all sessions, sorted with identity_compare(). */
struct identity_sessions {
        unsigned count;
        struct identity_session session[IDENTITY_SESSIONS];
};

/* To whom the session belongs whose `slots` a process maps. A program may be tricked into mapping
 * another user's file, so a file of the process's own user ranks higher. */
enum identity_rank { IDENTITY_OF_NONE, IDENTITY_OF_ANOTHERS, IDENTITY_OF_ITS_USERS };

struct identity {
        uint32_t pid;         /* in the daemon's PID namespace */
        uint32_t inner_pid;   /* in the process's own PID namespace */
        uint64_t pid_ns;      /* inode of the process's PID namespace; 0: unknown */
        uint64_t start_ticks; /* field 22 of /proc/PID/stat */
        /* inode of a pidfd of the process, never reused since boot (Linux 6.9); 0: unknown */
        uint64_t pidfd_inode;
        uint32_t uid;    /* the real user id */
        bool has_maps;   /* the mappings could be read */
        bool is_partial; /* mappings remain to be read, and may include other `slots` files */
        /* all threads exit: the kernel removes its mappings before the driver frees its GPU
         * memory */
        bool is_exiting;
        enum identity_rank rank;    /* highest rank of a `slots` file found so far */
        struct identity_file slots; /* the first file of that rank */
        char command[16];
        bool is_cgroup_hidden; /* the cgroup could not be read */
        /* path in cgroup version 2, possibly cut at the end; "": none */
        char cgroup[IDENTITY_CGROUP_BYTES];
};

/* Returns a descriptor that never refers to another process, even if the pid is reused: a pidfd, or
 * the process's folder in /proc if there are no pidfds (Linux before 5.3, or a seccomp filter).
 * Negative errno: there is none. */
int identity_hold(uint32_t pid);
bool identity_is_there(int held);
/* Whether `held` is a pidfd, which becomes readable when the process ends. */
bool identity_is_pidfd(int held);

/* Sends a signal; returns whether it was sent. Without pidfd_send_signal() (before Linux 5.1)
 * kill() is used, right after the process was seen alive: in between, the process could end and its
 * pid be reused. */
bool identity_signal(int held, uint32_t pid, int number);

/* Fills in the real user id of the process. False: there is no such process. */
bool identity_user(uint32_t pid, uint32_t *ret);

/* Fills in everything except what the mappings tell, and opens the list of mappings. False: the
 * process no longer exists. The caller closes `*maps`, which is NULL if the mappings cannot be
 * read. */
bool identity_begin(uint32_t pid, struct identity *ret, FILE **maps);
/* Reads mappings until all are read (returns true) or the processor time of this thread,
 * clock_thread_ns(), reaches `until_ns` (returns false). The time needed depends on the number of
 * mappings. */
bool identity_go_on(struct identity *identity, FILE *maps, const struct identity_sessions *sessions,
                    uint64_t until_ns);

/* Compares two files by inode and device, for qsort() and bsearch(). */
int identity_compare(const void *a, const void *b);

/* Whether the process maps the file, under any name. 1: yes. 0: no. -EAGAIN: not found before the
 * processor time of this thread, clock_thread_ns(), reached `until_ns`. */
int identity_has_mapped(uint32_t pid, const struct identity_file *file, uint64_t until_ns);

/* Whether the process `held` is the one that `identity` was read from. Before Linux 6.9 this
 * compares start times, whose reading may block (aside.h). */
bool identity_is_same(int held, const struct identity *identity);

/* Whether the process started before `boot_ns` (CLOCK_BOOTTIME). If so, and the process still
 * lives, the pid already belonged to it at that time. */
bool identity_was_there(const struct identity *identity, uint64_t boot_ns);

/* Whether the process's cgroup is one of `cgroups` or below one: absolute paths, separated by
 * commas. A cgroup that could not be read counts as inside. */
bool identity_is_in(const struct identity *identity, const char *cgroups);

/* Whether the daemon runs in the machine's first PID namespace. In another PID namespace a pid that
 * the driver reports may mean another process. */
bool identity_is_host(void);

#endif
