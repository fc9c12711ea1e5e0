/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes how much host memory this process may still use: the minimum of MemAvailable of
 * /proc/meminfo and the room below the limits of its cgroup and that cgroup's parents (memory.max
 * of cgroup version 2, memory.limit_in_bytes of version 1). The kernel cannot reclaim pinned
 * memory, and beyond these bounds it kills processes. So code asks these functions before it pins
 * memory.
 *
 * No heap; any thread. Other processes allocate meanwhile, so a result is an estimate. That is why
 * a part of the memory is never given out.
 */
#ifndef ALIQUOT_COMMON_HOST_MEMORY_H
#define ALIQUOT_COMMON_HOST_MEMORY_H

#include <stdint.h>

/* The mount points of proc and cgroup: "/proc" and "/sys/fs/cgroup", or others in tests. */
struct host_memory_place {
        const char *proc;
        const char *cgroup;
};

struct host_memory {
        /* memory of the machine, or the smallest cgroup limit; 0: unknown */
        uint64_t total_bytes;
        uint64_t available_bytes; /* what can be allocated without reclaiming memory in use */
};

/* Reads the memory of the machine and the limits of the cgroups of this process. */
struct host_memory host_memory_read(const struct host_memory_place *place);

/* Return how many bytes may be pinned: what is available except a sixteenth of the total, which
 * is left free. 0: nothing, or the memory is unknown. host_memory_spare() reads this machine's
 * memory now. */
uint64_t host_memory_spare_of(const struct host_memory *memory);
uint64_t host_memory_spare(void);

/* Returns the default limit of pinned host memory for a session: half of the total, rounded down to
 * 2 MiB. */
uint64_t host_memory_default(void);

#endif
