/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `aliquot top` does to the outside when a key asked for it. Each says in one line what came
 * of it; false: something was not done.
 */
#ifndef ALIQUOT_CLI_TOP_ACT_H
#define ALIQUOT_CLI_TOP_ACT_H

#include <sys/types.h>

#include "cli/top/keys.h"

/*
 * `program` (this one) set SESSION --memory TEXT, or another term: the same checks, the same words.
 * It may wait for a daemon, and nobody waits for it:
 *
 *      act_set(&act, program, keys, message)   begins it; false: the message says why not, or
 *                                              that it began and the one before it has failed
 *      act_is_set(&act, message, &is_bad)      whether it has ended, and how
 *      act_leave(&act)                         it ends without us
 */
struct act {
        bool is_pending;
        pid_t pid;
        int fd;           /* its words */
        char about[128];  /* "memory of train: 4GiB" */
        char before[160]; /* how the one before it failed, if that is still to be said at its end */
        char said[1024];  /* so far; owned by act.c */
        size_t length;
};

bool act_set(struct act *act, const char *program, const struct keys *keys,
             char ret_message[KEYS_LINE_BYTES]);
bool act_is_set(struct act *act, char ret_message[KEYS_LINE_BYTES], bool *ret_is_bad);
void act_leave(struct act *act);

/*
 * What a process says of itself is no ground to end one: it could name another's pid. A target gets
 * its signal only if it started when the slot says and has the session's file mapped, by the
 * kernel's word, and through a descriptor, so that it cannot have made room for another meanwhile.
 */
bool act_signal(const struct keys *keys, char ret_message[KEYS_LINE_BYTES]);

#endif
