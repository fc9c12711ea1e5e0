/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a file that another process maps. For commands of root, which may examine hostile
 * processes.
 *
 * The kernel provides the mapped file itself (/proc/PID/map_files), even if its name was deleted or
 * given to another file. That needs the right to checkpoint processes, which root has. Other users
 * open the file by its name, below the process's own root and without following links, and only if
 * it is still the same file. Only regular files are opened: opening a FIFO would block, and opening
 * a device may have effects. The bytes are read and not mapped, because the file can be truncated
 * meanwhile; and only a limited number is read, because the file can have any size.
 */
#ifndef ALIQUOT_CLI_MAPPED_H
#define ALIQUOT_CLI_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/maps.h"

/* Opens the file of the mapping `at` in the process `pid` for reading. Returns a descriptor or
 * -errno. */
int mapped_open(const char *pid, const struct maps *at);

/* Returns whether the file contains these bytes (at most MAPPED_WORD_MAX). Subtracts the bytes that
 * it reads from `*budget`; a file that is larger than the budget is not read. */
bool mapped_has(int fd, const void *word, size_t bytes, uint64_t *budget);

#define MAPPED_WORD_MAX 64u

#endif
