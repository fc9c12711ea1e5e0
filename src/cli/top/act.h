/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The orders of `aliquot top` that change something outside it. Each reports its result in one
 * line; false: the order was not fully carried out.
 */
#ifndef ALIQUOT_CLI_TOP_ACT_H
#define ALIQUOT_CLI_TOP_ACT_H

#include <sys/types.h>

#include "cli/top/keys.h"

/*
 * Runs `program` (this one) as set SESSION --memory TEXT, or with another term: the same checks and
 * messages. It may wait for a daemon, in the background:
 *
 *      act_set(&act, program, keys, message)   begins it; false: the message says why not, or
 *                                              that it began and the one before it has failed
 *      act_is_set(&act, message, &is_bad)      whether it has ended, and how
 *      act_leave(&act)                         lets it end without us
 */
struct act {
        bool is_pending;
        pid_t pid;
        int fd;           /* its words */
        char about[128];  /* "memory of train: 4GiB" */
        char before[160]; /* how the last one failed, to be shown at the end of this one */
        char said[1024];  /* so far; owned by act.c */
        size_t length;
};

bool act_set(struct act *act, const char *program, const struct keys *keys,
             char ret_message[KEYS_LINE_BYTES]);
bool act_is_set(struct act *act, char ret_message[KEYS_LINE_BYTES], bool *ret_is_bad);
void act_leave(struct act *act);

/*
 * A process's own claims are no reason to end it: it could name another's pid. A target gets its
 * signal only if it started when the slot says and maps the session's file, as the kernel reports,
 * and through a descriptor, so that its pid cannot have been reused meanwhile.
 */
bool act_signal(const struct keys *keys, char ret_message[KEYS_LINE_BYTES]);

#endif
