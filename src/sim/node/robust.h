/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Robust mutexes in shared memory, which survive the death of their holder.
 */
#ifndef ALIQUOT_SIM_NODE_ROBUST_H
#define ALIQUOT_SIM_NODE_ROBUST_H

#include <pthread.h>

/* Initialises the mutex as free, whatever the memory contained before. */
void robust_init(pthread_mutex_t *mutex);

/* Like pthread_mutex_lock(): returns 0, or EOWNERDEAD if the last holder died. Then the caller
 * repairs what the mutex guards and calls pthread_mutex_consistent(). The mutex also survives the
 * death of a waiting thread. */
int robust_lock(pthread_mutex_t *mutex);

#endif
