/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a file that another process maps, for a command of root that examines possibly hostile
 * processes.
 *
 * The kernel provides the mapped file itself (/proc/PID/map_files), even if its name was deleted or
 * given to another file; this needs the right to checkpoint processes, which root has. Other users
 * get the file by its name, below the process's own root, without following links, and only if it
 * is still the same file. Only regular files are opened: no FIFO, which would block, and no device,
 * whose opening may have effects. Bytes are read and not mapped, because the file can be truncated
 * meanwhile, and only up to a bound, because it can have any size.
 */
#ifndef ALIQUOT_CLI_MAPPED_H
#define ALIQUOT_CLI_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/maps.h"

/* The file of the mapping that maps_next() came to in the process `pid`, to be read; or -errno. */
int mapped_open(const char *pid, const struct maps *at);

/* Whether the file contains these bytes (at most MAPPED_WORD_MAX). Subtracts what it reads from
 * `*budget`; a file larger than that is not read. */
bool mapped_has(int fd, const void *word, size_t bytes, uint64_t *budget);

#define MAPPED_WORD_MAX 64u

#endif
