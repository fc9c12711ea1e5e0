/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hash FNV-1a with 64 bits: hash_bytes() adds bytes to a hash, which begins as HASH_BASIS. Not
 * for what an attacker may choose: collisions are easy to find.
 *
 * A header alone; any thread.
 */
#ifndef ALIQUOT_COMMON_HASH_H
#define ALIQUOT_COMMON_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_BASIS UINT64_C(0xcbf29ce484222325)

static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
        const unsigned char *at = bytes;

        for (; count; count--, at++)
                hash = (hash ^ *at) * UINT64_C(0x100000001b3);
        return hash;
}

#endif
