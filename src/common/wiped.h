/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State that is all zeroes again in a forked child: the kernel wipes it there (MADV_WIPEONFORK,
 * Linux 4.14).
 *
 *      struct helper { ... };
 *      WIPED_AT_FORK(struct helper, helper);   // defines it, in whole pages of its own
 *
 *      wiped_mark(helper);                     // before its first use, in parent and child
 *
 * A header alone; any thread. errno may change.
 */
#ifndef ALIQUOT_COMMON_WIPED_H
#define ALIQUOT_COMMON_WIPED_H

#include <stdint.h>
#include <sys/mman.h>

#include "common/atomic.h"

#define WIPED_PAGE_BYTES 4096u

/* AddressSanitizer adds a redzone behind the alias, which must not overlap the next variable. */
#define WIPED_REDZONE_BYTES 64u

#define WIPED_ROUND(bytes) (((bytes) + WIPED_PAGE_BYTES - 1) / WIPED_PAGE_BYTES * WIPED_PAGE_BYTES)

#define WIPED_AT_FORK(type, name)                                                     \
        static union {                                                                \
                type parts;                                                           \
                unsigned char pages[WIPED_ROUND(sizeof(type) + WIPED_REDZONE_BYTES)]; \
        } name##_wiped __attribute__((aligned(WIPED_PAGE_BYTES)));                    \
                                                                                      \
        /* A child's pages are marked as its parent's were. */                        \
        static _Atomic uint32_t name##_is_marked;                                     \
                                                                                      \
        extern type name __attribute__((alias(#name "_wiped")))

#define wiped_mark(name)                                                               \
        do {                                                                           \
                if (!load_relaxed(&name##_is_marked)) {                                \
                        madvise(&name##_wiped, sizeof(name##_wiped), MADV_WIPEONFORK); \
                        store_relaxed(&name##_is_marked, 1);                           \
                }                                                                      \
        } while (0)

#endif
