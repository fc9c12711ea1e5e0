/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pretend world for core/sessions: what is saved, the folders, who runs.
 *
 * It carries actions out as the daemon would and asserts, at each, what the daemon may rely on: a
 * folder has a row for as long as it is there, what is closed is saved as closed, and nobody runs
 * in what is removed.
 */
#ifndef ALIQUOT_TEST_SESSIONS_WORLD_H
#define ALIQUOT_TEST_SESSIONS_WORLD_H

#include "core/sessions.h"

#define WORLD_SESSIONS 64u
#define WORLD_TEXT_BYTES 512u

struct world_session {
        char name[SESSIONS_NAME_BYTES]; /* "": a free place */
        bool is_saved;
        struct sessions_one row;
        bool is_made, is_shut;
        struct sessions_one folder; /* the limits in its page */
        unsigned running;
        bool is_stubborn; /* SIGTERM is ignored */
};

struct world {
        struct world_session session[WORLD_SESSIONS];
};

/* NULL: nothing of it is there. */
struct world_session *world_find(struct world *world, const char *name);

void world_carry_out(struct world *world, const struct sessions_action *action);

/* A crash: whoever starts anew knows `node`'s policy and GPUs, and what was saved. */
void world_restart(const struct world *world, const struct sessions *before, struct sessions *ret);

/* One line with everything about a session that is decided: for stories and for comparing. */
const char *world_describe(const struct sessions_one *one, char ret[WORLD_TEXT_BYTES]);

#endif
