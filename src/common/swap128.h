/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A compare-and-swap of 16 bytes that works between processes.
 *
 *      bool swap128(uint64_t *word, const uint64_t expected[2], const uint64_t desired[2]);
 *
 * True: `word` was equal to `expected` and is now `desired`. `word` must be aligned to 16 bytes.
 * The memory order is acquire and release. Each architecture has a file with the instructions,
 * because libatomic may use a lock, which does not work between processes.
 */
#ifndef ALIQUOT_COMMON_SWAP128_H
#define ALIQUOT_COMMON_SWAP128_H

#if defined(__x86_64__)
#include "common/swap128_x86_64.h"
#elif defined(__aarch64__)
#include "common/swap128_aarch64.h"
#else
#error "no 16-byte compare-and-swap is written for this architecture: add common/swap128_ARCH.h"
#endif

#endif
