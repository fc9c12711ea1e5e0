/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of the machine's memory this process may still take: MemAvailable of /proc/meminfo, and
 * what the limits of its cgroup and of those above it leave (memory.max of version 2,
 * memory.limit_in_bytes of version 1). Pinned memory cannot be taken back by the kernel, so whoever
 * pins asks first: beyond these bounds the kernel kills.
 *
 * No heap, any thread. Other processes take memory meanwhile: an answer is an estimate, which is
 * why a part of it is never given out.
 */
#ifndef ALIQUOT_COMMON_HOST_MEMORY_H
#define ALIQUOT_COMMON_HOST_MEMORY_H

#include <stdint.h>

/* Where the kernel tells it: "/proc" and "/sys/fs/cgroup". */
struct host_memory_place {
        const char *proc;
        const char *cgroup;
};

struct host_memory {
        uint64_t total_bytes;     /* the machine's, or the least limit; 0: it cannot be told */
        uint64_t available_bytes; /* of that, without pressing anybody */
};

struct host_memory host_memory_read(const struct host_memory_place *place);

/* What may be pinned: a sixteenth of the total is left free. Of this machine now; 0 also where it
 * cannot be told. */
uint64_t host_memory_spare_of(const struct host_memory *memory);
uint64_t host_memory_spare(void);

/* What a session may pin that asks for no number: half of the total, in whole 2 MiB. */
uint64_t host_memory_default(void);

#endif
