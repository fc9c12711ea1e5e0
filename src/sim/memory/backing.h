/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands behind device memory: pages of a file system that may be smaller than the card.
 *
 * Granted memory is a hole in a file until it is touched, and a touch for which there is no page
 * ends the process with SIGBUS. So where memory lies is chosen by the room there is, and whoever
 * touches it for a program has it backed before: a full file system is then an error of the driver.
 *
 * Any thread. What a program touches itself (managed memory) is not seen.
 */
#ifndef ALIQUOT_SIM_MEMORY_BACKING_H
#define ALIQUOT_SIM_MEMORY_BACKING_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"

/* Is the state folder's file system a place for a card's memory? It has room for all of it, or for
 * a quarter of what the machine has: a smaller one (64 MiB in many containers) was meant for less.
 */
bool backing_is_roomy(uint64_t card_bytes);

/* Whether the bytes, which may be accessed so (enum memory_access), can be touched. False: the file
 * system is full, which is said once. */
bool backing_ensure(CUdeviceptr address, uint64_t bytes, unsigned access);

#endif
