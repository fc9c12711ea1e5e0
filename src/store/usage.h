/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the processes of a session, and the memory that each is charged.
 *
 * A process describes itself once, when it gets its slot. The reader checks the slots that were
 * ever used, and lists those whose owner lives; it asks the kernel once for each lock. Names and
 * numbers are the process's own claims: fit for a listing, but not for a decision, and not for
 * limiting the reader's time. Text is terminated and printable. No function allocates, except
 * through opendir(), or takes a lock.
 */
#ifndef ALIQUOT_STORE_USAGE_H
#define ALIQUOT_STORE_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/page.h"
#include "store/liveness.h"

#define USAGE_CGROUP_BYTES 256u

struct usage_process {
        uint32_t slot;
        uint32_t pid;       /* the pid in the process's own PID namespace */
        uint32_t local_pid; /* the pid as this process sees it, set by usage_name() */
        uint32_t uid;
        uint64_t pid_ns_inode;
        uint64_t start_ticks;
        char command[sizeof(((struct page_slot *)0)->command)];
        uint64_t bytes[PAGE_DEVICES];
        uint32_t measured_devices; /* see struct page_slot */
};

/* Writes this process's pid, namespace, start time, uid and command into the slot. */
void usage_describe_self(struct page_slot *slot);

/* Time limit of a listing. Each probe makes the kernel search all locks on the file, and the
 * file's owner can set any number of locks. Listing 4096 honest processes takes less on a
 * present machine. */
#define USAGE_MAX_NS UINT64_C(50000000)

/*
 * Lists the live processes of a session, in slot order; fills in up to `max`. Returns their number,
 * or a negative errno if the file cannot be probed; -EOVERFLOW: the listing took more than
 * USAGE_MAX_NS of this thread's processor time. fork() must be blocked as liveness.h says, or the
 * caller must have only one thread.
 */
int usage_list(const struct slots_page *slots, const struct liveness_file *file,
               struct usage_process *ret, size_t max);

/* As usage_list(), but within `max_ns`, except for one last probe that may exceed it. */
struct usage_look {
        const struct liveness_file *file;
        uint64_t max_ns;
};
int usage_list_within(const struct slots_page *slots, const struct usage_look *look,
                      struct usage_process *ret, size_t max);

/* Sets local_pid of each process: the pid as this process sees it. In our PID namespace that is
 * the process's own pid. For a process in a child namespace, it is the pid in /proc whose start
 * time and innermost pid match; 0 if there is none. Reads /proc at most once, for any number of
 * processes, and stops after `max_ns` of processor time (0: /proc is not read). */
#define USAGE_NO_BOUND UINT64_MAX
void usage_name(struct usage_process *list, size_t count, uint64_t max_ns);

/* Returns the start time of a process of this namespace: field 22 of its stat file. 0: there is
 * no such process. */
uint64_t usage_start_ticks(uint32_t pid);

/* Gets the control group of a process (of version 2, else the first one listed); printable, ""
 * if unknown. Makes one bounded read. */
void usage_cgroup(uint32_t pid, char ret[USAGE_CGROUP_BYTES]);

/* Whether the process with this pid in our namespace has the start time and the own pid that the
 * slot claims. */
bool usage_is_process(const struct usage_process *process, uint32_t pid);

#endif
