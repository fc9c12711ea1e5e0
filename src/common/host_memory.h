/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much host memory this process may still take: MemAvailable of /proc/meminfo, and the room
 * below the limits of its cgroup and that cgroup's parents (memory.max of version 2,
 * memory.limit_in_bytes of version 1). The kernel cannot reclaim pinned memory: beyond these bounds
 * it kills processes. So code asks here before it pins memory.
 *
 * No heap, any thread. Other processes allocate meanwhile, so an answer is an estimate; that is why
 * a part is never given out.
 */
#ifndef ALIQUOT_COMMON_HOST_MEMORY_H
#define ALIQUOT_COMMON_HOST_MEMORY_H

#include <stdint.h>

/* The mount points of these: "/proc" and "/sys/fs/cgroup". */
struct host_memory_place {
        const char *proc;
        const char *cgroup;
};

struct host_memory {
        uint64_t total_bytes;     /* of the machine, or the smallest limit; 0: unknown */
        uint64_t available_bytes; /* without reclaiming memory in use */
};

struct host_memory host_memory_read(const struct host_memory_place *place);

/* How much may be pinned: a sixteenth of the total is left free; 0 also if unknown.
 * host_memory_spare() reads this machine now. */
uint64_t host_memory_spare_of(const struct host_memory *memory);
uint64_t host_memory_spare(void);

/* The default limit of pinned memory of a session: half of the total, rounded down to 2 MiB. */
uint64_t host_memory_default(void);

#endif
