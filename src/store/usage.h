/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the processes of a session, and the memory that each is charged.
 *
 * A process describes itself once, when it takes its slot. The reader walks the slots that were
 * ever taken, and lists those whose owner lives; for that it asks the kernel once for each lock.
 * Names and numbers are the process's own claims: fit for a listing, not for a decision, and not
 * for bounding the reader's time. Text is terminated and printable. Nothing here allocates, except
 * opendir(), or takes a lock.
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
        uint32_t pid;       /* in its own PID namespace */
        uint32_t local_pid; /* by usage_name() */
        uint32_t uid;
        uint64_t pid_ns_inode;
        uint64_t start_ticks;
        char command[sizeof(((struct page_slot *)0)->command)];
        uint64_t bytes[PAGE_DEVICES];
        uint32_t measured_devices; /* as page_slot's */
};

/* Writes this process's pid, namespace, start, uid and command into the slot. */
void usage_describe_self(struct page_slot *slot);

/* Time limit: a probe walks all locks on the file, and the file's owner can set any number. Listing
 * 4096 honest processes takes less on a present machine. */
#define USAGE_MAX_NS UINT64_C(50000000)

/*
 * Lists the live processes of a session, in slot order; fills in up to `max`. Returns their number,
 * or a negative errno if the file cannot be probed; -EOVERFLOW: not within USAGE_MAX_NS of this
 * thread's time. `fork` must be blocked as liveness.h says, or the caller must have only one
 * thread.
 */
int usage_list(const struct slots_page *slots, const struct liveness_file *file,
               struct usage_process *ret, size_t max);

/* The same within `most_ns`, except for one last probe that may exceed it. */
struct usage_look {
        const struct liveness_file *file;
        uint64_t most_ns;
};
int usage_list_within(const struct slots_page *slots, const struct usage_look *look,
                      struct usage_process *ret, size_t max);

/* Sets local_pid of each process, its pid as seen by this process: its own pid if the namespace is
 * ours; else, from the namespace of an ancestor, the pid in /proc with that start time; 0 if there
 * is none. Makes at most one walk over /proc, for any number of processes, which ends after this
 * much processor time (0: no walk). */
#define USAGE_NO_BOUND UINT64_MAX
void usage_name(struct usage_process *list, size_t count, uint64_t most_ns);

/* The start time of a process of this namespace: field 22 of its stat. 0: there is none. */
uint64_t usage_start_ticks(uint32_t pid);

/* Its control group (of version 2, else the first one listed); printable, "" if unknown. One
 * bounded read. */
void usage_cgroup(uint32_t pid, char ret[USAGE_CGROUP_BYTES]);

/* Whether the process with this pid here has the start time and the pid that the slot says. */
bool usage_is_process(const struct usage_process *process, uint32_t pid);

#endif
