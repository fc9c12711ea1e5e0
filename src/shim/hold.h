/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session's gate, put before this process's work.
 *
 * Whichever front end finds the session first, in whatever thread: each calls this once it has
 * started the session, and again at every later start, until the gate is in place.
 */
#ifndef ALIQUOT_SHIM_HOLD_H
#define ALIQUOT_SHIM_HOLD_H

/* Puts the session's gate in force; does nothing again, or unless the session is active. */
void hold_use(void);

#endif
