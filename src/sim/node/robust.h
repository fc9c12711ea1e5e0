/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Robust mutexes in shared memory, which survive the death of their holder.
 */
#ifndef ALIQUOT_SIM_NODE_ROBUST_H
#define ALIQUOT_SIM_NODE_ROBUST_H

#include <pthread.h>

/* Initialises it as free, whatever the memory held before. */
void robust_init(pthread_mutex_t *mutex);

/* As pthread_mutex_lock(): 0, or EOWNERDEAD, after which the caller repairs what the mutex guards
 * and calls pthread_mutex_consistent(). Also survives the death of a waiter. */
int robust_lock(pthread_mutex_t *mutex);

#endif
