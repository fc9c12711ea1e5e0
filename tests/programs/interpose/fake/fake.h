/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a generated fake driver and its few written functions agree on.
 */
#pragma once

#define WEAK __attribute__((weak))

/* Sorted by name, version, per_thread. */
struct fake_proc {
        const char *name;
        int version;
        int is_per_thread;
        void *function;
};

extern const struct fake_proc fake_procs[] __attribute__((visibility("hidden")));
extern const int fake_version __attribute__((visibility("hidden")));
extern const int fake_is_strict __attribute__((visibility("hidden")));
extern void *const fake_unused[] __attribute__((visibility("hidden")));
