/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment that this process was started with, whatever became of it since.
 *
 * Programs tidy their environment (clearenv(), os.environ.clear()) before they first touch the
 * GPU; the limit they were started under must not go with it. The kernel still shows the strings
 * in /proc/self/environ, unless the program wrote over them.
 *
 * One thread: the one that finds the session.
 */
#ifndef ALIQUOT_SHIM_INITIAL_H
#define ALIQUOT_SHIM_INITIAL_H

/* The entries whose names are long enough for a setting, ended by NULL; NULL when it cannot be
 * read. Valid until initial_free(). */
char *const *initial_environment(void);
void initial_free(void);

#endif
