/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate: hooks call gate_pass() before they submit work, and wait there while their session is
 * held (the daemon keeps all programs of the session away from the device).
 *
 * gate_pass() tests one word; 0 means open. The word is a constant 0 until there is a session, and
 * then the session's word (limits_page.gate). While the word is not 0, the thread waits in the
 * function that was given with the word, or in a futex wait on the word.
 */
#ifndef ALIQUOT_INTERPOSE_GATE_H
#define ALIQUOT_INTERPOSE_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/atomic.h"

/* Waits until the gate may be open, and returns; gate_wait() then tests the word again. Any thread
 * may call the function. It must not call gate_pass(). gate_wait() saves errno around it. */
typedef void gate_waiter(const uint32_t *word);

/* Makes `word` the gate. If `waiter` is NULL, threads sleep while the word is not 0. The word must
 * stay mapped for the life of the process. */
void gate_use(const uint32_t *word, gate_waiter *waiter);

/* The word of the gate; 0 means open. Never NULL. */
extern const uint32_t *gate_word;

static inline bool gate_is_shut(void)
{
        return load_plain_relaxed(load_plain_relaxed(&gate_word)) != 0;
}

/* Waits while the gate is closed. */
void gate_wait(void);

static inline void gate_pass(void)
{
        if (__builtin_expect(gate_is_shut(), 0))
                gate_wait();
}

#endif
