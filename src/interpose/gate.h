/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate: submissions wait here while their session is held.
 *
 * Hooks test one word with gate_pass(): 0 is open. It is a constant 0 until there is a session,
 * then the session's word (limits_page.gate). While the gate is shut, the thread waits in the
 * function given with the word, or in a futex on the word.
 */
#ifndef ALIQUOT_INTERPOSE_GATE_H
#define ALIQUOT_INTERPOSE_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/atomic.h"

/* Returns when the caller may go on; may be called in any thread, and must not pass the gate. errno
 * is saved around it. */
typedef void gate_waiter(const uint32_t *word);

/* From now on the gate is `word`. `waiter` NULL: sleep while the word is not 0. The word must stay
 * mapped for the life of the process. */
void gate_use(const uint32_t *word, gate_waiter *waiter);

/* The tested word: 0 is open. Never NULL; at first a constant 0. */
extern const uint32_t *gate_word;

static inline bool gate_is_shut(void)
{
        return load_plain_relaxed(load_plain_relaxed(&gate_word)) != 0;
}

/* Waits while the gate is shut. */
void gate_wait(void);

static inline void gate_pass(void)
{
        if (__builtin_expect(gate_is_shut(), 0))
                gate_wait();
}

#endif
