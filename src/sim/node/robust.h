/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutexes in memory that processes share, which outlive the death of whoever has them.
 */
#ifndef ALIQUOT_SIM_NODE_ROBUST_H
#define ALIQUOT_SIM_NODE_ROBUST_H

#include <pthread.h>

/* Makes it, free, whatever was there before. */
void robust_init(pthread_mutex_t *mutex);

/* As pthread_mutex_lock(): 0, or EOWNERDEAD, after which the caller repairs what the mutex guards
 * and says so with pthread_mutex_consistent(). Survives that a waiter dies, too. */
int robust_lock(pthread_mutex_t *mutex);

#endif
