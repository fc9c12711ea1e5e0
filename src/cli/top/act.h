/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The orders of `aliquot top`: actions that change something outside the program. Each function
 * reports its result in one line. It returns false if the order was not fully carried out.
 */
#ifndef ALIQUOT_CLI_TOP_ACT_H
#define ALIQUOT_CLI_TOP_ACT_H

#include <sys/types.h>

#include "cli/top/keys.h"

/*
 * Runs `program` (this one) with the arguments set SESSION --memory TEXT, or with the flag of
 * another term, so that the checks and messages are the same. It may wait for a daemon, in the
 * background:
 *
 *      act_set(&act, program, keys, message)   starts it; false: it did not start (the message
 *                                              has the reason), or the order before it failed
 *      act_is_set(&act, message, &is_bad)      whether it has ended, and with which result
 *      act_leave(&act)                         no longer waits for it
 */
struct act {
        bool is_pending;
        pid_t pid;
        int fd;           /* pipe with its output */
        char about[128];  /* the order, for example "memory of train: 4GiB" */
        char before[160]; /* why the previous order failed, to be shown when this one ends */
        char said[1024];  /* its output so far; owned by act.c */
        size_t length;
};

bool act_set(struct act *act, const char *program, const struct keys *keys,
             char ret_message[KEYS_LINE_BYTES]);
bool act_is_set(struct act *act, char ret_message[KEYS_LINE_BYTES], bool *ret_is_bad);
void act_leave(struct act *act);

/*
 * Sends the order's signal to its targets. A process writes its slot itself, so it could claim
 * another process's pid. Therefore a target gets the signal only if the kernel confirms that it
 * started at the time in the slot and maps the session's file. The signal is sent through a
 * descriptor, so that the pid cannot have been reused meanwhile.
 */
bool act_signal(const struct keys *keys, char ret_message[KEYS_LINE_BYTES]);

#endif
