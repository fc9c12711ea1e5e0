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

struct cli_options {
        int argc;
        char **argv;
        int wrong_status; /* what a mistake in the arguments exits with */
};

/* argp_parse(); does not return from --help or a mistake. */
void options_parse(const struct cli_options *options, const struct argp *argp, unsigned flags,
                   void *input);

/* Whether the word is an option whose value comes next. */
bool options_takes_value(const struct argp *argp, const char *word);

/* What the commands that only look take: --json, session names, and columns of a list. */
struct view {
        bool is_json;
        const char *columns; /* of -o; NULL: all */
        unsigned least;      /* sessions that it needs, and names it takes at most; set before */
        unsigned most;
        unsigned count;
        const char *name[256];
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

/* A daemon of the whole machine that was passed by on the way to the next folder: it counts nothing
 * that is made there. */
enum passed {
        PASSED_NONE,
        PASSED_BARS, /* it keeps this user out */
        PASSED_AWAY, /* none serves its folder, and sessions of it are there */
};

/* `asked`: the folder that was named. `store`: the one that was found; its path may be empty. */
enum passed options_passed_daemon(const char *asked, const struct store *store);

/* Whether a session of this user lies in the folder of the machine's daemon, which is in `ret`
 * then. It is joined and looked at there, also while that daemon is away. */
bool options_find_kept(const char *asked, const char *name, struct store *ret);

/* The runtime folder that the environment or the usual places say; -ENOENT: there is none. */
int options_find_store(struct store *ret, struct error *err);

/* The same for who names a session: options_find_kept() comes first. */
int options_find_store_of(const char *name, struct store *ret, struct error *err);

/* For people who list sessions: that those of a daemon which was passed by are not among them. */
void options_tell_unlisted(const struct store *store);

/* That there is no such session, as every command says it, instead of `err`: where rc is -ENOENT,
 * or another user has the name. */
const struct error *options_unknown(const char *name, const struct store *store, int rc,
                                    struct error *err);

/* The folder and the session in it, as `aliquot NAME` would say what is wrong. */
int options_open_session(const char *name, bool writable, struct store_session *ret,
                         struct error *err);

#endif
