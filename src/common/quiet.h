/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protects another's program from file operations that our library makes in it: they cannot kill or
 * cancel the program.
 *
 *      quiet_begin(&quiet);
 *      write(fd, line, bytes);         // fails with an error, without a signal
 *      quiet_end(&quiet);
 *
 * By default SIGPIPE (a pipe without a reader) and SIGXFSZ (a file size limit) kill the process,
 * and open() and write() are cancellation points. Between the two calls none of that affects the
 * calling thread. Signals that were pending before quiet_begin() are pending again after
 * quiet_end(). Both calls keep errno.
 */
#ifndef ALIQUOT_COMMON_QUIET_H
#define ALIQUOT_COMMON_QUIET_H

#include <signal.h>

struct quiet {
        /* the thread's signal mask and pending signals before quiet_begin() */
        sigset_t mask, pending;
        int cancelling; /* the thread's cancellation state before quiet_begin() */
};

void quiet_begin(struct quiet *ret);
void quiet_end(const struct quiet *quiet);

#endif
