/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment with which this process was started, even if the program has changed its
 * environment since.
 *
 * Programs may clear their environment (clearenv(), os.environ.clear()) before they first use the
 * GPU; the limit must hold nevertheless. The kernel still shows the strings in /proc/self/environ,
 * unless the program wrote over them.
 *
 * Only the thread that finds the session may call.
 */
#ifndef ALIQUOT_SHIM_INITIAL_H
#define ALIQUOT_SHIM_INITIAL_H

/* Returns the entries whose names are long enough for a setting, ended by NULL. Returns NULL if
 * they cannot be read. Valid until initial_free(). */
char *const *initial_environment(void);
void initial_free(void);

#endif
