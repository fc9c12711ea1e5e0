/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who uses a session, and how much: what slots say of their owners, and what their rows hold.
 *
 * The writer describes itself once, when it takes its slot. The reader walks the slots that were
 * ever taken, and lists those whose owner lives, by the kernel's word, which is asked for as often
 * as there are locks. Names and numbers are the process's own claims: good for a listing, never for
 * a decision, nor for how long a reader works. Text comes out terminated and printable. Nothing
 * here allocates but for opendir(), or takes a lock.
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

/* Fills in what this process is: pid, namespace, start, uid, command. */
void usage_describe_self(struct page_slot *slot);

/* A probe walks all locks on the file, and its owner can place any number: 4096 honest processes
 * are listed in less on a machine of today. */
#define USAGE_MOST_NS UINT64_C(50000000)

/*
 * The live processes of a session, in slot order; up to `max` are filled in. Returns how many
 * there are, or a negative errno when the file cannot be probed; -EOVERFLOW: not within
 * USAGE_MOST_NS of this thread's time. `fork` must be barred as
 * liveness.h says, or the caller must have one thread.
 */
int usage_list(const struct slots_page *slots, const struct liveness_file *file,
               struct usage_process *ret, size_t max);

/* The same within `most_ns`, but for the one probe that goes beyond it. */
struct usage_look {
        const struct liveness_file *file;
        uint64_t most_ns;
};
int usage_list_within(const struct slots_page *slots, const struct usage_look *look,
                      struct usage_process *ret, size_t max);

/* Sets local_pid of each, the pid by which this process may name it: its own if the namespace is
 * ours; else, from the namespace of an ancestor, what /proc says of a process with that start; 0
 * when there is none. One walk over /proc at most, however many there are and whatever they say,
 * that ends after so much processor time (0: no walk). */
#define USAGE_NO_BOUND UINT64_MAX
void usage_name(struct usage_process *list, size_t count, uint64_t most_ns);

/* When a process of this namespace started: field 22 of its stat. 0: there is none such. */
uint64_t usage_start_ticks(uint32_t pid);

/* Its control group (of version 2, else the first that is said); printable, "" when it cannot be
 * told. One bounded read. */
void usage_cgroup(uint32_t pid, char ret[USAGE_CGROUP_BYTES]);

/* Whether the process with this pid here started when the slot says, under the pid that it says. */
bool usage_is_process(const struct usage_process *process, uint32_t pid);

#endif
