/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's events, while somebody looks at them: what `aliquot events` prints, or why it does
 * not. That waits for the daemon instead of us.
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
