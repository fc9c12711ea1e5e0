/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to NVML about the cards, for front ends that must not depend on NVML.
 *
 * The answers come from the real library and may be unavailable (no libnvidia-ml, or a container
 * without it). Implemented in shim/nvml. Any thread may call.
 */
#ifndef ALIQUOT_SHIM_CARDS_H
#define ALIQUOT_SHIM_CARDS_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/session.h"

/* Keeps NVML open for the life of this process, because opening it, and the first question about
 * a device, take 15 ms (H200, 2026-11-27). A child of fork() opens it again. Returns false if
 * there is no NVML. */
bool cards_keep_open(void);

/* A session_gpu_lister (session.h): lists every GPU, with the MIG instances of partitioned ones,
 * in NVML's order. -ENODEV: NVML does not start. */
int cards_list(struct session_gpu *ret, size_t max);

/* Asks NVML how much of a device this process holds, including contexts. Keeps NVML open. */
enum cards_answer { CARDS_UNKNOWN, CARDS_NOT_LISTED, CARDS_TOLD };
enum cards_answer cards_own_bytes(const uint8_t uuid[16], uint64_t *ret_bytes);

/* Whether NVML lists this process by its own pid. False if the process is in a PID namespace of
 * its own. */
bool cards_know_pids(void);

#endif
