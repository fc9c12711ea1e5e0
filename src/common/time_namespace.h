/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the offset of this process's CLOCK_MONOTONIC from the machine's.
 *
 * A process in a time namespace (time_namespaces(7)) reads a clock with an offset, and any user can
 * make such a namespace inside a user namespace. Processes compare their times with times that
 * others wrote, so the offset is subtracted.
 *
 * A forked child may be in another namespace than its parent, so the kernel wipes the cached offset
 * in the child. Any thread, even in a signal handler. The functions keep errno, and are no
 * cancellation points.
 */
#ifndef ALIQUOT_COMMON_TIME_NAMESPACE_H
#define ALIQUOT_COMMON_TIME_NAMESPACE_H

#include <stdint.h>

#include "common/atomic.h"
#include "common/machine_clock.h"

/* The cache fills a whole page, since the kernel wipes whole pages. */
#define TIME_NAMESPACE_PAGE_BYTES 4096
#define TIME_NAMESPACE_KNOWN (UINT64_C(1) << 63)

union time_namespace {
        /* offset in ns + TIME_NAMESPACE_KNOWN; 0: unknown */
        _Alignas(TIME_NAMESPACE_PAGE_BYTES) _Atomic uint64_t known;
        char page[TIME_NAMESPACE_PAGE_BYTES];
};

extern union time_namespace time_namespace __attribute__((visibility("hidden")));

/* Reads the offset from the kernel, and caches it if it is certain. */
int64_t time_namespace_look(void);

/* Returns by how many nanoseconds the namespace's clock is ahead of the machine's;
 * negative: behind. */
static inline int64_t time_namespace_ahead_ns(void)
{
        uint64_t known = load_relaxed(&time_namespace.known);

        return known ? (int64_t)(known - TIME_NAMESPACE_KNOWN) : time_namespace_look();
}

/* Returns CLOCK_MONOTONIC as a process outside time namespaces reads it. */
static inline uint64_t clock_shared_ns(void)
{
        return clock_machine_ns() - (uint64_t)time_namespace_ahead_ns();
}

/* Converts a time of clock_shared_ns() to this process's CLOCK_MONOTONIC, for waiting until then.
 * 0: the time has passed. */
static inline uint64_t clock_own_ns(uint64_t shared_ns)
{
        int64_t ahead_ns = time_namespace_ahead_ns();
        uint64_t own_ns = shared_ns + (uint64_t)ahead_ns;

        if (ahead_ns < 0)
                return own_ns < shared_ns ? own_ns : 0;
        return own_ns >= shared_ns ? own_ns : UINT64_MAX;
}

#endif
