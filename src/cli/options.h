/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How every command parses its arguments: with argp, and with a configurable exit status for wrong
 * arguments.
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
        int wrong_status; /* exit status for a mistake in the arguments */
};

/* Calls argp_parse(). It does not return after --help or a mistake. */
void options_parse(const struct cli_options *options, const struct argp *argp, unsigned flags,
                   void *input);

/* Returns whether the word is an option whose value is the next word. */
bool options_takes_value(const struct argp *argp, const char *word);

/* Arguments of the commands that only show something: --json, session names, and the columns of a
 * list. */
struct view {
        bool is_json;
        const char *columns; /* value of -o; NULL: all columns */
        /* minimum number of names; the command sets it and `most`, the maximum, before */
        unsigned least;
        unsigned most;
        unsigned count;
        const char *name[256];
};

/* Options of a view, for struct argp_child; their input is a struct view. */
extern const struct argp view_argp;
extern const struct argp view_list_argp; /* these also have -o */

/* Parser and children for a command that has only the options of view_list_argp; its input is the
 * struct view. */
error_t view_list_parse(int key, char *value, struct argp_state *state);
extern const struct argp_child view_list_children[];

/* Selects the columns of -o in a table whose titles are set. */
int view_choose(const struct view *view, struct table *table, struct error *err);

/* Finds the runtime folder like store_find(). Before the usual places it also tries the folder of a
 * daemon that serves the whole machine, if this user may use that daemon. `asked` is a
 * settings.runtime_dir. */
int options_find_folder(const char *asked, bool make, struct store *ret, struct error *err);

/* Why the daemon of the whole machine was skipped in the search for a folder. That daemon does not
 * count what is created in another folder. */
enum passed {
        PASSED_NONE,
        PASSED_BARS, /* it does not serve this user */
        PASSED_AWAY, /* no daemon serves its folder now, but the folder has sessions */
};

/* Returns whether that daemon was skipped. `asked`: the folder that was requested. `store`: the
 * folder that was found; its path may be empty. */
enum passed options_passed_daemon(const char *asked, const struct store *store);

/* Returns whether a session of this user is in the folder of the machine's daemon, and stores that
 * folder in `ret`. Such a session is joined and shown from there, even while that daemon does not
 * run. */
bool options_find_kept(const char *asked, const char *name, struct store *ret);

/* Finds the runtime folder that the environment gives, or one of the usual places. -ENOENT: there
 * is none. */
int options_find_store(struct store *ret, struct error *err);

/* Like options_find_store(), for a command about one session: tries options_find_kept() first. */
int options_find_store_of(const char *name, struct store *ret, struct error *err);

/* After a list of sessions, tells the user that those of a skipped daemon are not in the list. */
void options_tell_unlisted(const struct store *store);

/* Returns the error to print when a session was not opened. If `rc` is -ENOENT, or if another user
 * has a session of that name, it is that there is no such session, with the same text in all
 * commands; otherwise it is `err`. */
const struct error *options_unknown(const char *name, const struct store *store, int rc,
                                    struct error *err);

/* Finds the folder and opens the session in it; the errors have the text of `aliquot NAME`. */
int options_open_session(const char *name, bool writable, struct store_session *ret,
                         struct error *err);

#endif
