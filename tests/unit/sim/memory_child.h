/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other processes in the stories of memory: a child runs its part, and its parent and it tell each
 * other when, and hand over descriptors, by a channel.
 *
 *      child = child_start(part, &channel);    // int part(int channel): 0, or where it failed
 *      fd = receive_from(channel);
 *      child_ends(child);                      // well
 */
#ifndef TESTS_UNIT_SIM_MEMORY_CHILD_H
#define TESTS_UNIT_SIM_MEMORY_CHILD_H

#include <sys/types.h>

#include "memory_stage.h"

/* What is handed over: a segment of virtual memory on device 0. */
#define SEGMENT (2 * MIB)
extern const CUmemAllocationProp exportable;

pid_t child_start(int (*part)(int channel), int *ret_channel);

/* Waits for its end: it must have exited with 0. */
void child_ends(pid_t child);

/* In a child, where nothing can be asserted: cuInit and a current context on device 0. 0, or not.
 */
int child_begin(void);

/* A byte, and a descriptor with it (-1: none). Who finds nobody at the other end exits with 100. */
void send_to(int channel, int fd);
int receive_from(int channel);

#endif
