/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocates file system pages for device memory. The file system may be smaller than the card.
 *
 * Granted memory is a hole in a file until the first access, and an access for which there is no
 * free page kills the process with SIGBUS. Therefore the file is placed where there is room, and
 * the driver has the pages allocated before it accesses memory for a program. A full file system is
 * then an error of a driver call.
 *
 * Any thread. Accesses by the program itself (to managed memory) are not covered.
 */
#ifndef ALIQUOT_SIM_MEMORY_BACKING_H
#define ALIQUOT_SIM_MEMORY_BACKING_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"

/* Returns whether the state folder's file system has room for a card's memory: for all of it, or
 * for a quarter of the machine's memory. A smaller file system (64 MiB in many containers) is meant
 * for other uses. */
bool backing_is_roomy(uint64_t card_bytes);

/* Allocates the pages for an access to the bytes. `access` is an enum memory_access that the caller
 * has checked. False: the file system is full, which is reported once. */
bool backing_ensure(CUdeviceptr address, uint64_t bytes, unsigned access);

#endif
