/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows the daemon's events while the user watches them: runs `aliquot events`, which waits for
 * the daemon, and reads its output or error.
 */
#ifndef ALIQUOT_CLI_TOP_FEED_H
#define ALIQUOT_CLI_TOP_FEED_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/top/lines.h"

/* The followed events; all zeroes at first. */
struct feed {
        bool is_open;
        pid_t pid;
        int fd;
        struct lines lines;
};

/* feed_open() starts following, with the latest past events; `program` is the path of this program.
 * feed_close() stops. */
void feed_open(struct feed *feed, const char *program);
void feed_close(struct feed *feed);

/* Reads the events that have arrived since the last call. */
void feed_read(struct feed *feed);

#endif
