/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment with which this process was started, even if the program changed it since.
 *
 * Programs tidy their environment (clearenv(), os.environ.clear()) before they first use the GPU;
 * the limit must survive that. The kernel still shows the strings in /proc/self/environ, unless the
 * program wrote over them.
 *
 * Called by one thread only: the one that finds the session.
 */
#ifndef ALIQUOT_SHIM_INITIAL_H
#define ALIQUOT_SHIM_INITIAL_H

/* The entries that are long enough for a setting, ended by NULL; NULL if they cannot be read. Valid
 * until initial_free(). */
char *const *initial_environment(void);
void initial_free(void);

#endif
