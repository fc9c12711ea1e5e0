/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Defines static state that a forked child finds all zero: the kernel wipes its pages in the child
 * (MADV_WIPEONFORK, Linux 4.14).
 *
 *      struct helper { ... };
 *      WIPED_AT_FORK(struct helper, helper);   // defines `helper`, in whole pages of its own
 *
 *      wiped_mark(helper);             // before the first use of `helper`, in parent and child
 *
 * Any thread may call wiped_mark(). errno may change.
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
        /* A child inherits the mark of its parent's pages. */                        \
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
