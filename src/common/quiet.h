/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brackets file work inside another's program, so that it cannot kill or cancel that program.
 *
 *      quiet_begin(&quiet);
 *      write(fd, line, bytes);         // its errors are errors, nothing else
 *      quiet_end(&quiet);
 *
 * A pipe without a reader raises SIGPIPE and a file size limit SIGXFSZ, which by default kill;
 * open() and write() are cancellation points. In between, none of this affects the calling thread:
 * signals that were pending before are pending after. errno survives both calls.
 */
#ifndef ALIQUOT_COMMON_QUIET_H
#define ALIQUOT_COMMON_QUIET_H

#include <signal.h>

struct quiet {
        sigset_t mask, pending; /* of the thread, before quiet_begin() */
        int cancelling;
};

void quiet_begin(struct quiet *ret);
void quiet_end(const struct quiet *quiet);

#endif
