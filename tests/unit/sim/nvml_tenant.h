/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A private node for tests of NVML's face, and processes that live in it.
 *
 * A tenant is a forked child that takes a row in the node, does as it is told and then waits to be
 * ended. It uses the node's own functions, so that what NVML should say is known to the byte.
 */
#ifndef ALIQUOT_TEST_NVML_TENANT_H
#define ALIQUOT_TEST_NVML_TENANT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/types.h>

#include "abi/nvml.h"

#define MIB (1ULL << 20)

/* Sets ALIQUOT_SIM to `spec` with a fresh state folder; cmocka's group fixtures. */
int node_prepare(const char *spec);
int node_discard(void **state);

/* The same after nvmlShutdown(). */
int node_finish(void **state);

/* Forks a process that attaches, runs `work`, and stays. Its pid, once `work` has returned. */
pid_t tenant_start(void (*work)(void));
void tenant_kill(pid_t pid);

/* For `work`: one context of 1 MiB and an allocation, on a device of the node. */
void tenant_allocate(unsigned device, uint64_t bytes);

/* Rows taken in the node, by anybody alive or dead. */
unsigned node_rows_taken(void);

nvmlDevice_t card(unsigned index);

#endif
