/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gates of this process: the session's, and the process's own.
 *
 * Each front end calls hold_use() when it has started the session, and again at every later start,
 * until the session's gate is in force.
 *
 * While memory of this process is away from the card, the process's own gate is shut, whatever the
 * session's gate says. So no mistake of the session's owner lets a program run with memory missing.
 */
#ifndef ALIQUOT_SHIM_HOLD_H
#define ALIQUOT_SHIM_HOLD_H

#include <stdbool.h>

/* Puts the session's gate in force; does nothing again, or unless the session is active. */
void hold_use(void);

/* Put the process's own gate, shut, in place of the session's; and back. Called by the helper, or
 * by the thread that ends the process and does the helper's work. A thread that has credit passes
 * the own gate until gate_end_credit(). */
void hold_shut_own(void);
void hold_open_own(void);
bool hold_is_own(void);

/* Whether the own gate is shut. For the thread that ends the program: it waits until the memory is
 * back. The call also writes into the page that a thread waits at the gate: otherwise the session
 * counts as idle, and its memory stays out. */
bool hold_stands_at_end(void);

#endif
