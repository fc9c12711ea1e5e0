/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stretch of file work that cannot end or tear the program it happens in.
 *
 *      quiet_begin(&quiet);
 *      write(fd, line, bytes);         // its errors are errors, nothing else
 *      quiet_end(&quiet);
 *
 * A pipe that nobody reads raises SIGPIPE and a file size limit SIGXFSZ, which by default kill;
 * open() and write() are places where a thread may be cancelled. None of it happens in between,
 * for this thread alone: what was pending before is pending after. errno survives both calls.
 */
#ifndef ALIQUOT_COMMON_QUIET_H
#define ALIQUOT_COMMON_QUIET_H

#include <signal.h>

struct quiet {
        sigset_t mask, pending; /* the thread's own, before */
        int cancelling;
};

void quiet_begin(struct quiet *ret);
void quiet_end(const struct quiet *quiet);

#endif
