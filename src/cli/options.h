/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How every command reads its arguments: argp, with an exit status of its own for "called wrong".
 */
#ifndef ALIQUOT_CLI_OPTIONS_H
#define ALIQUOT_CLI_OPTIONS_H

#include <argp.h>
#include <stdbool.h>

#include "cli/command.h"
#include "cli/table.h"
#include "store/store.h"

#define OPTIONS_SYSTEM_FOLDER "/run/aliquot"

struct cli_options {
        int argc;
        char **argv;
        int wrong_status; /* what a mistake in the arguments exits with */
};

/* argp_parse(); does not return from --help or a mistake. */
void options_parse(const struct cli_options *options, const struct argp *argp, unsigned flags,
                   void *input);

/* What the commands that only look take: --json, session names, and columns of a list. */
struct view {
        bool is_json;
        const char *columns; /* of -o; NULL: all */
        unsigned least;      /* sessions that it needs, and names it takes at most; set before */
        unsigned most;
        unsigned count;
        const char *name[16];
};

/* The options of a view, for argp_child; their input is a struct view. */
extern const struct argp view_argp;
extern const struct argp view_list_argp; /* with -o */

/* Parser and children of a command that takes the second of these alone; its input is the view. */
error_t view_list_parse(int key, char *value, struct argp_state *state);
extern const struct argp_child view_list_children[];

/* The columns that -o says, for a table whose titles are set. */
int view_choose(const struct view *view, struct table *table, struct error *err);

/* As store_find(), and before the usual places that of a daemon of the whole machine which lets
 * this user in. `asked` is a settings.runtime_dir. */
int options_find_folder(const char *asked, bool make, struct store *ret, struct error *err);

/* Whether the daemon of the whole machine keeps this user out, whose commands go on to the next
 * folder, `store`: nothing that they make there is counted by it. `asked`: what was named. */
bool options_passed_daemon(const char *asked, const struct store *store);

/* The runtime folder that the environment or the usual places say; -ENOENT: there is none. */
int options_find_store(struct store *ret, struct error *err);

/* That there is no such session, as every command says it, instead of `err`: where rc is -ENOENT,
 * or another user has the name. */
const struct error *options_unknown(const char *name, const struct store *store, int rc,
                                    struct error *err);

/* The folder and the session in it, as `aliquot NAME` would say what is wrong. */
int options_open_session(const char *name, bool writable, struct store_session *ret,
                         struct error *err);

#endif
