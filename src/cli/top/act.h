/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `aliquot top` does to the outside when a key asked for it. Each says in one line what came
 * of it; false: it was not done.
 */
#ifndef ALIQUOT_CLI_TOP_ACT_H
#define ALIQUOT_CLI_TOP_ACT_H

#include "cli/top/keys.h"

/* By `program` (this one) set SESSION --memory TEXT, or another term: the same checks, the same
 * words. */
bool act_set(const char *program, const struct keys *keys, char ret_message[KEYS_LINE_BYTES]);

/*
 * What a process says of itself is no ground to end one: it could name another's pid. A target gets
 * its signal only if it started when the slot says and has the session's file mapped, by the
 * kernel's word, and through a descriptor, so that it cannot have made room for another meanwhile.
 */
bool act_signal(const struct keys *keys, char ret_message[KEYS_LINE_BYTES]);

#endif
