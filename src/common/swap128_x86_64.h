/* SPDX-License-Identifier: Apache-2.0 */
/*
 * swap128() for x86-64, with `lock cmpxchg16b`, which is also a full barrier. Every x86-64
 * processor in a machine that can have a CUDA GPU supports it; only the first AMD ones of 2003-2005
 * do not.
 */
#ifndef ALIQUOT_COMMON_SWAP128_X86_64_H
#define ALIQUOT_COMMON_SWAP128_X86_64_H

#include <stdbool.h>
#include <stdint.h>

static inline bool swap128(uint64_t *word, const uint64_t expected[2], const uint64_t desired[2])
{
        uint64_t low = expected[0];
        uint64_t high = expected[1];
        bool is_swapped;

        __asm__ volatile("lock cmpxchg16b (%[word])"
                         : "=@ccz"(is_swapped), "+a"(low), "+d"(high)
                         : [word] "r"(word), "b"(desired[0]), "c"(desired[1])
                         : "memory");
        return is_swapped;
}

#endif
