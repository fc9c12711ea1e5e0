/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cards as NVML sees them, for front ends that must not know NVML.
 *
 * Both answers come from the real library and may be unavailable (no libnvidia-ml, a container
 * without it): then the caller does without. Implemented in shim/nvml. Any thread.
 */
#ifndef ALIQUOT_SHIM_CARDS_H
#define ALIQUOT_SHIM_CARDS_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/session.h"

/* NVML stays open for as long as this process lives: opening it, and the first question about a
 * device, take 15 ms (H200, 2026-11-27). Once a process: a child opens it anew. False: there is
 * none. */
bool cards_keep_open(void);

/* A session_gpu_lister: every GPU, and the MIG instances of those cut up, in NVML's order. -ENODEV:
 * NVML does not start. */
int cards_list(struct session_gpu *ret, size_t max);

/* What NVML says this very process holds of a device, contexts included. Keeps it open. */
enum cards_answer { CARDS_UNKNOWN, CARDS_NOT_LISTED, CARDS_TOLD };
enum cards_answer cards_own_bytes(const uint8_t uuid[16], uint64_t *ret_bytes);

/* Does NVML list this process by the number that it knows itself by? False in a PID namespace of
 * its own. */
bool cards_know_pids(void);

#endif
