/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows the daemon's events while the user looks at them: runs `aliquot events`, which waits for
 * the daemon, and reads its output or its error.
 */
#ifndef ALIQUOT_CLI_TOP_FEED_H
#define ALIQUOT_CLI_TOP_FEED_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/top/lines.h"

/* The events that are followed; all zeroes at first. */
struct feed {
        bool is_open;
        pid_t pid;
        int fd;
        struct lines lines;
};

/* Begins, with the latest events there are, or ends; `program` is this one. */
void feed_open(struct feed *feed, const char *program);
void feed_close(struct feed *feed);

/* Takes the events that have come since. */
void feed_read(struct feed *feed);

#endif
