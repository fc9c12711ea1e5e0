/* SPDX-License-Identifier: Apache-2.0 */
/*
 * swap128() for aarch64, with `ldaxp` and `stlxp`, which every aarch64 processor has.
 *
 * The two words that ldaxp reads are known to be one value only if the following stlxp succeeds. So
 * on a mismatch the code writes back the words that it read, and reports the mismatch only if that
 * store succeeds. (`casp` would be shorter, but needs ARMv8.1, and so a choice at run time.)
 */
#ifndef ALIQUOT_COMMON_SWAP128_AARCH64_H
#define ALIQUOT_COMMON_SWAP128_AARCH64_H

#include <stdbool.h>
#include <stdint.h>

static inline bool swap128(uint64_t *word, const uint64_t expected[2], const uint64_t desired[2])
{
        uint64_t low, high, put_low, put_high;
        uint32_t is_lost, is_equal;

        __asm__ volatile(
                "1:     ldaxp   %[low], %[high], [%[word]]\n"
                "       cmp     %[low], %[old_low]\n"
                "       ccmp    %[high], %[old_high], #0, eq\n"
                "       cset    %w[equal], eq\n"
                "       csel    %[put_low], %[new_low], %[low], eq\n"
                "       csel    %[put_high], %[new_high], %[high], eq\n"
                "       stlxp   %w[lost], %[put_low], %[put_high], [%[word]]\n"
                "       cbnz    %w[lost], 1b\n"
                : [low] "=&r"(low), [high] "=&r"(high), [put_low] "=&r"(put_low),
                  [put_high] "=&r"(put_high), [lost] "=&r"(is_lost), [equal] "=&r"(is_equal)
                : [word] "r"(word), [old_low] "r"(expected[0]), [old_high] "r"(expected[1]),
                  [new_low] "r"(desired[0]), [new_high] "r"(desired[1])
                : "cc", "memory");
        return is_equal;
}

#endif
