/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file that another process has mapped, for a command of root's that looks into processes of
 * users who may mean harm.
 *
 * The kernel gives the mapped file itself (/proc/PID/map_files), also where its name was deleted or
 * another file put there. It does so for who may checkpoint processes, as root may. Others get the
 * file by its name, below the process's own root and through no link, if it is still that file.
 * Nothing but a regular file is opened at all: no FIFO, at which open() waits, and no device, which
 * may do something when it is opened. Bytes are read and never mapped, since the file can be cut
 * short meanwhile; and no more than a bound, since it can be of any size.
 */
#ifndef ALIQUOT_CLI_MAPPED_H
#define ALIQUOT_CLI_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/maps.h"

/* The file of the mapping that maps_next() came to in the process `pid`, to be read; or -errno. */
int mapped_open(const char *pid, const struct maps *at);

/* Whether the file has these bytes (at most MAPPED_WORD_MOST). What is read is taken off `*budget`;
 * a file that is larger than that is not read. */
bool mapped_has(int fd, const void *word, size_t bytes, uint64_t *budget);

#define MAPPED_WORD_MOST 64u

#endif
