/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate: where work waits while its session is held.
 *
 * Hooks test one word through gate_pass(): 0 is open. The word is the session's (limits_page.gate)
 * once there is a session, and a constant 0 until then. A shut gate is waited for by the function
 * given with the word, or by a futex on it.
 */
#ifndef ALIQUOT_INTERPOSE_GATE_H
#define ALIQUOT_INTERPOSE_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/atomic.h"

/* Returns when the caller may go on; may be called in any thread, and must not pass the
 * gate. Errno is saved around it. */
typedef void gate_waiter(const uint32_t *word);

/* From now on the gate is `word`. `waiter` NULL: sleep on the word while it is not 0. The word must
 * stay mapped for the life of the process. */
void gate_use(const uint32_t *word, gate_waiter *waiter);

/* What is tested: 0 lets pass. Never NULL; at first a word that is always 0. */
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
