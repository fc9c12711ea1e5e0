/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session's gate, put before this process's work; and one of the process's own.
 *
 * Whichever front end finds the session first, in whatever thread: each calls hold_use() once it
 * has started the session, and again at every later start, until the gate is in place.
 *
 * While memory of this process is not where the program thinks it is the process has itself stand
 * before a gate of its own, whatever the session's says: so no mistake of the owner lets a program
 * run with memory missing.
 */
#ifndef ALIQUOT_SHIM_HOLD_H
#define ALIQUOT_SHIM_HOLD_H

#include <stdbool.h>

/* Puts the session's gate in force; does nothing again, or unless the session is active. */
void hold_use(void);

/* Shuts the process's own gate in place of the session's, and opens it. By one thread, the helper,
 * or who ends the process in its place. Who has credit is not stopped by that (gate_end_credit()).
 */
void hold_shut_own(void);
void hold_open_own(void);
bool hold_is_own(void);

/* For the thread that ends the program and waits for its memory: whether the own gate is shut. Then
 * it also says in the page that a thread stands there, or nobody would bring the memory back. */
bool hold_stands_at_end(void);

#endif
