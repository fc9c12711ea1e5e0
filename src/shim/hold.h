/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gates of this process: the session's gate, which the daemon closes to hold the session while
 * its memory moves, and the process's own gate.
 *
 * Each front end calls hold_use() when it has started the session, and again at every later start,
 * until the session's gate is in force.
 *
 * While memory of this process is away from the card, the process's own gate is closed, whatever
 * the session's gate says. So no mistake of the daemon can let the program run with memory missing.
 */
#ifndef ALIQUOT_SHIM_HOLD_H
#define ALIQUOT_SHIM_HOLD_H

#include <stdbool.h>

/* Puts the session's gate in force. Does nothing if that was done before, or if the session is
 * not active. */
void hold_use(void);

/* hold_shut_own() closes the process's own gate and puts it in place of the session's;
 * hold_open_own() opens it and puts the session's gate back. Called by the helper, or by the
 * thread that ends the process and does the helper's work. A thread that has credit passes the
 * own gate until gate_end_credit(). */
void hold_shut_own(void);
void hold_open_own(void);
/* Whether the process's own gate is closed. */
bool hold_is_own(void);

/* Whether the own gate is closed, for the thread that ends the program: it waits until the
 * memory is back. The call also writes into the page that a thread waits at the gate: otherwise
 * the session would count as idle, and its memory would stay out. */
bool hold_stands_at_end(void);

#endif
