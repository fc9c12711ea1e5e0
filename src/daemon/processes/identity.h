/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who a pid is, by the kernel's word alone.
 *
 *      held = identity_hold(pid)               // from here on the pid is nobody else's,
 *      identity_begin(pid, &identity, &maps)   // and identity_go_on() until it is true, as long as
 *      identity_is_there(held)                 // its process lives
 *
 * Nothing here is what the process says of itself, but for the command's name. Whose `slots` it has
 * mapped is found by device and inode among those of all sessions, whatever it calls the file and
 * whatever else it has mapped. A process that
 * may not be looked into (another user's, for a user's own daemon) has no mappings that are known.
 * What is read of a process (identity_begin(), _go_on(), _has_mapped()) can keep the
 * reader waiting: for children of the daemon (aside.h). The rest does not wait.
 *
 * Any thread; no state.
 */
#ifndef ALIQUOT_DAEMON_PROCESSES_IDENTITY_H
#define ALIQUOT_DAEMON_PROCESSES_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define IDENTITY_SESSIONS 4096u
#define IDENTITY_CGROUP_BYTES 1024u      /* more than any of watch.managed_cgroups has */
#define IDENTITY_CGROUP_SHOWN_BYTES 256u /* of what others are told */

struct identity_file {
        uint64_t device, inode;
};

struct identity_session {
        struct identity_file slots;
        uint32_t owner_uid;
};

/* Those that there are, in the order of identity_compare(). */
struct identity_sessions {
        unsigned count;
        struct identity_session session[IDENTITY_SESSIONS];
};

/* Whose session's `slots` a process has mapped. A program may have been led to map another user's
 * file, so its own user's is worth more. */
enum identity_rank { IDENTITY_OF_NONE, IDENTITY_OF_ANOTHERS, IDENTITY_OF_ITS_USERS };

struct identity {
        uint32_t pid;         /* in our PID namespace */
        uint32_t inner_pid;   /* in its own */
        uint64_t pid_ns;      /* inode of that; 0: not to be known */
        uint64_t start_ticks; /* field 22 of its stat */
        uint64_t pidfd_inode; /* its alone since boot (Linux 6.9); 0: not to be known */
        uint32_t uid;         /* the real one */
        bool has_maps;        /* its mappings could be read */
        bool is_partial;      /* they are still being read: there may be other slots among them */
        bool is_exiting;      /* all of its threads: its mappings go before its GPU memory does */
        enum identity_rank rank;    /* of the best that was found */
        struct identity_file slots; /* the first of that rank */
        char command[16];
        bool is_cgroup_hidden;              /* it could not be read */
        char cgroup[IDENTITY_CGROUP_BYTES]; /* of version 2; the beginning of it; "": none */
};

/* A pidfd; where there are none (Linux before 5.3, or a filter bars them), its folder in /proc,
 * which is never another's either; or a negative errno. */
int identity_hold(uint32_t pid);
bool identity_is_there(int held);
bool identity_is_pidfd(int held); /* one that can be waited for: it becomes readable at the end */

/* Whether it was sent. Without pidfd_send_signal() (Linux 5.1) by the pid, right after it was seen
 * to live: in between it could end, and its pid be given to another. */
bool identity_signal(int held, uint32_t pid, int number);

/* Whose it is, by its real user id. False: there is no such process. */
bool identity_user(uint32_t pid, uint32_t *ret);

/* All but the mappings. False: there is no such process (any more). `*maps` is the caller's to
 * close; NULL: there are none to be read. */
bool identity_begin(uint32_t pid, struct identity *ret, FILE **maps);
/* Reads mappings until this thread has used so much of a processor (clock_thread_ns()); how long
 * that takes goes by what the process has mapped. True: all are read. */
bool identity_go_on(struct identity *identity, FILE *maps, const struct identity_sessions *sessions,
                    uint64_t until_ns);

/* The order of files, for qsort() and bsearch(). */
int identity_compare(const void *a, const void *b);

/* Whether it has this very file mapped, under whatever name and among however many others: 1 or 0;
 * -EAGAIN: not found until this thread had used so much of a processor (clock_thread_ns()). */
int identity_has_mapped(uint32_t pid, const struct identity_file *file, uint64_t until_ns);

/* Whether who is held with the pid of `identity` is the process that this was read from. Before
 * Linux 6.9 it goes by its start, for which the kernel may wait (aside.h). */
bool identity_is_same(int held, const struct identity *identity);

/* Whether it had started before this moment (CLOCK_BOOTTIME): if so, and it lives, its pid was its
 * own at that moment. */
bool identity_was_there(const struct identity *identity, uint64_t boot_ns);

/* Whether its cgroup is one of these, or in one: absolute paths, separated by commas. One that
 * could not be read is in any. */
bool identity_is_in(const struct identity *identity, const char *cgroups);

/* Whether pids here are those of the machine: in another PID namespace a driver may name a process
 * by a pid that is another's here. */
bool identity_is_host(void);

#endif
