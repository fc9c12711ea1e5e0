/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hash function for pseudo-random numbers that are the same in every run: they depend only on the
 * configuration and on the number of earlier draws.
 */
#ifndef ALIQUOT_SIM_NODE_MIX_H
#define ALIQUOT_SIM_NODE_MIX_H

#include <stdint.h>

static inline uint64_t hash_mix(uint64_t hash, uint64_t value)
{
        hash ^= value + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2);
        hash ^= hash >> 30;
        hash *= 0xbf58476d1ce4e5b9ULL;
        hash ^= hash >> 27;
        hash *= 0x94d049bb133111ebULL;
        return hash ^ (hash >> 31);
}

#endif
