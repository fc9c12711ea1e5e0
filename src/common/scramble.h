/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns a number into one that looks random, with one round of splitmix64 (Vigna, 2015).
 *
 * Different inputs give different outputs. It hides nothing: the input can be computed from the
 * output. A header alone; any thread.
 */
#ifndef ALIQUOT_COMMON_SCRAMBLE_H
#define ALIQUOT_COMMON_SCRAMBLE_H

#include <stdint.h>

static inline uint64_t scramble(uint64_t x)
{
        x += UINT64_C(0x9e3779b97f4a7c15);
        x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
        return x ^ x >> 31;
}

#endif
