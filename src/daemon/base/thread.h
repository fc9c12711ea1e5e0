/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts a thread of the daemon with all signals blocked: the loop handles them.
 */
#ifndef ALIQUOT_DAEMON_BASE_THREAD_H
#define ALIQUOT_DAEMON_BASE_THREAD_H

#include <pthread.h>

/* `name` has at most 15 letters; NULL: the process's own. 0, or the negative error number. */
int thread_start(pthread_t *ret, const char *name, void *(*run)(void *), void *argument);

#endif
