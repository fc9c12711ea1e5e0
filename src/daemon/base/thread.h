/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts a thread of the daemon with all signals blocked, because the event loop handles signals.
 */
#ifndef ALIQUOT_DAEMON_BASE_THREAD_H
#define ALIQUOT_DAEMON_BASE_THREAD_H

#include <pthread.h>

/* Starts the thread. `name` has at most 15 characters; NULL: the thread keeps the process's name.
 * Returns 0 or a negative errno. */
int thread_start(pthread_t *ret, const char *name, void *(*run)(void *), void *argument);

#endif
