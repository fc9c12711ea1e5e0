/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backs device memory with pages of a file system, which may be smaller than the card.
 *
 * Granted memory is a hole in a file until the first access, and an access without a free page
 * kills the process with SIGBUS. So the file is placed where there is room, and before the driver
 * accesses memory for a program it has the pages allocated: a full file system is then an error of
 * the driver.
 *
 * Any thread. Accesses by the program itself (managed memory) are not seen.
 */
#ifndef ALIQUOT_SIM_MEMORY_BACKING_H
#define ALIQUOT_SIM_MEMORY_BACKING_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"

/* Whether the state folder's file system has room for a card's memory: for all of it, or for a
 * quarter of the machine's memory. A smaller one (64 MiB in many containers) is meant for less. */
bool backing_is_roomy(uint64_t card_bytes);

/* Whether the bytes, which may be accessed so (enum memory_access), can be touched. False: the file
 * system is full, which is said once. */
bool backing_ensure(CUdeviceptr address, uint64_t bytes, unsigned access);

#endif
