/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/presence.h"
#include "cli/remote.h"
#include "common/text.h"
#include "settings/settings.h"

#define OPTION_BYTES 64u
#define SLIPS 2u /* letters by which a mistyped option may differ */
/* link count of a folder without subfolders: its name and its "." */
#define EMPTY_LINKS 2u

bool options_takes_value(const struct argp *argp, const char *word)
{
        const struct argp_option *option = argp->options;
        const struct argp_child *child = argp->children;

        for (; option && option->name; option++) {
                if (strncmp(word, "--", 2) == 0 && strcmp(word + 2, option->name) == 0)
                        return option->arg && !(option->flags & OPTION_ARG_OPTIONAL);
        }
        for (; child && child->argp; child++) {
                if (options_takes_value(child->argp, word))
                        return true;
        }
        return false;
}

/* Returns whether at most `slips` insertions, deletions or replacements of letters turn one word
 * into the other. */
static bool is_near(const char *a, const char *b, unsigned slips)
{
        while (*a && *a == *b) {
                a++;
                b++;
        }
        if (!*a && !*b)
                return true;
        return slips > 0 &&
               ((*a && is_near(a + 1, b, slips - 1)) || (*b && is_near(a, b + 1, slips - 1)) ||
                (*a && *b && is_near(a + 1, b + 1, slips - 1)));
}

/* Finds the option that a mistyped word resembles. True: the word is an option, or the beginning of
 * one. */
static bool find_option(const struct argp *argp, const char *name, const char **ret_near)
{
        const struct argp_option *option = argp->options;
        const struct argp_child *child = argp->children;

        for (; option && option->name; option++) {
                if (strncmp(option->name, name, strlen(name)) == 0)
                        return true;
                if (!(option->flags & OPTION_HIDDEN) && is_near(name, option->name, SLIPS))
                        *ret_near = option->name;
        }
        for (; child && child->argp; child++) {
                if (find_option(child->argp, name, ret_near))
                        return true;
        }
        return strncmp("help", name, strlen(name)) == 0 ||
               strncmp("usage", name, strlen(name)) == 0;
}

static void refuse_slip(const struct cli_options *options, const struct argp *argp,
                        const char *word)
{
        char name[OPTION_BYTES];
        const char *meant = NULL;

        if (text_put(name, sizeof(name), NULL, "%.*s", (int)strcspn(word + 2, "="), word + 2) < 0 ||
            find_option(argp, name, &meant) || !meant)
                return;
        fprintf(stderr, "%s: there is no option --%s; did you mean --%s\n", options->argv[0],
                text_shown(name), meant);
        exit(options->wrong_status);
}

/* Refuses a mistyped option with a suggestion; argp itself only reports that it is unknown. The
 * words after the command of `run` belong to its program. */
static void refuse_slips(const struct cli_options *options, const struct argp *argp, unsigned flags)
{
        bool is_value = false;

        for (int i = 1; i < options->argc; i++) {
                const char *word = options->argv[i];

                if (is_value || word[0] != '-') {
                        if (!is_value && (flags & ARGP_IN_ORDER))
                                return;
                        is_value = false;
                        continue;
                }
                if (strcmp(word, "--") == 0)
                        return;
                if (strncmp(word, "--", 2) == 0)
                        refuse_slip(options, argp, word);
                is_value = options_takes_value(argp, word);
        }
}

void options_parse(const struct cli_options *options, const struct argp *argp, unsigned flags,
                   void *input)
{
        argp_err_exit_status = options->wrong_status;
        refuse_slips(options, argp, flags);
        if (argp_parse(argp, options->argc, options->argv, flags, NULL, input) != 0)
                exit(options->wrong_status);
}

static const struct argp_option view_options[] = {
        { "json", 'j', NULL, 0, "Print JSON", 0 },
        { 0 },
};

static const struct argp_option list_options[] = {
        { "columns", 'o', "FIELD,...", 0, "Print these columns, in this order", 0 },
        { 0 },
};

static error_t parse_view(int key, char *value, struct argp_state *state)
{
        struct view *view = state->input;

        switch (key) {
        case 'j':
                view->is_json = true;
                return 0;
        case ARGP_KEY_ARG:
                if (view->count == view->most)
                        argp_error(state, "%s: too many arguments", value);
                view->name[view->count++] = value;
                return 0;
        case ARGP_KEY_END:
                if (view->count < view->least)
                        argp_error(state, "which session? aliquot ls lists them");
                return 0;
        default:
                return ARGP_ERR_UNKNOWN;
        }
}

const struct argp view_argp = { .options = view_options, .parser = parse_view };

static error_t parse_list(int key, char *value, struct argp_state *state)
{
        struct view *view = state->input;

        switch (key) {
        case ARGP_KEY_INIT:
                state->child_inputs[0] = view;
                return 0;
        case 'o':
                view->columns = value;
                return 0;
        default:
                return ARGP_ERR_UNKNOWN;
        }
}

static const struct argp_child list_children[] = { { &view_argp, 0, NULL, 0 }, { 0 } };

const struct argp view_list_argp = {
        .options = list_options,
        .parser = parse_list,
        .children = list_children,
};

error_t view_list_parse(int key, char *value, struct argp_state *state)
{
        if (key != ARGP_KEY_INIT)
                return ARGP_ERR_UNKNOWN;
        state->child_inputs[0] = state->input;
        return 0;
}

const struct argp_child view_list_children[] = { { &view_list_argp, 0, NULL, 0 }, { 0 } };

int view_choose(const struct view *view, struct table *table, struct error *err)
{
        if (!view->columns)
                return 0;
        if (view->is_json)
                return fail(err, -EINVAL, "-o and --json: choose one; JSON has every field");
        return table_choose(table, view->columns, err);
}

int options_find_folder(const char *asked, bool make, struct store *ret, struct error *err)
{
        struct store store;

        if (!asked[0] && store_find(&store, STORE_SYSTEM_FOLDER, false, NULL) == 0 &&
            presence_look(&store) == PRESENCE_LISTENS) {
                *ret = store;
                return 0;
        }
        return store_find(ret, asked, make, err);
}

/* Returns whether the folder may have sessions, when this user may not list it: a folder has a link
 * for each of its subfolders. On file systems that do not count these links, the link count is 1,
 * and there may be sessions. */
static bool may_hold_sessions(const struct store *store)
{
        char path[STORE_PATH_BYTES + 16];
        struct stat st;

        return text_put(path, sizeof(path), NULL, "%s/sessions", store->path) == 0 &&
               stat(path, &st) == 0 && st.st_nlink != EMPTY_LINKS;
}

enum passed options_passed_daemon(const char *asked, const struct store *store)
{
        const struct store machine = { .path = STORE_SYSTEM_FOLDER };

        if (asked[0] || strcmp(store->path, STORE_SYSTEM_FOLDER) == 0)
                return PASSED_NONE;
        if (presence_is_barred(&machine))
                return PASSED_BARS;
        return presence_has_been(&machine) && may_hold_sessions(&machine) ? PASSED_AWAY
                                                                          : PASSED_NONE;
}

bool options_find_kept(const char *asked, const char *name, struct store *ret)
{
        struct store_session session;
        struct store store;

        if (asked[0] || settings_check_name("session", name, NULL) < 0 ||
            store_find(&store, STORE_SYSTEM_FOLDER, false, NULL) < 0 ||
            store_join_limits(&store, name, &session, NULL) < 0)
                return false;
        store_close(&session);
        *ret = store;
        return true;
}

int options_find_store(struct store *ret, struct error *err)
{
        char asked[SETTINGS_PATH_BYTES];
        int rc = settings_read_folder(environ, asked, err);

        return rc < 0 ? rc : options_find_folder(asked, false, ret, err);
}

int options_find_store_of(const char *name, struct store *ret, struct error *err)
{
        char asked[SETTINGS_PATH_BYTES];
        int rc = settings_read_folder(environ, asked, err);

        if (rc < 0 || options_find_kept(asked, name, ret))
                return rc;
        return options_find_folder(asked, false, ret, err);
}

void options_tell_unlisted(const struct store *store)
{
        char asked[SETTINGS_PATH_BYTES];

        if (settings_read_folder(environ, asked, NULL) == 0 &&
            options_passed_daemon(asked, store) == PASSED_AWAY)
                fputs("aliquot: note: the daemon of " STORE_SYSTEM_FOLDER
                      " is away, and sessions that it keeps for this user are not listed; aliquot "
                      "show and run --session work with a name\n",
                      stderr);
}

const struct error *options_unknown(const char *name, const struct store *store, int rc,
                                    struct error *err)
{
        bool may_be_anothers = rc == -ENOENT || rc == -EACCES || rc == -EPERM;

        if (may_be_anothers && store->path[0] && remote_is_anothers(store, name))
                fail(err, rc,
                     "there is no session %s of this user in %s: another user has the name; "
                     "aliquot ls shows those there are",
                     name, store->path);
        else if (rc == -ENOENT)
                fail(err, rc, "there is no session %s%s%s; aliquot ls shows those there are", name,
                     store->path[0] ? " in " : "", store->path);
        return err;
}

int options_open_session(const char *name, bool writable, struct store_session *ret,
                         struct error *err)
{
        struct store store = { 0 };
        int rc = settings_check_name("session", name, err);

        if (rc == 0)
                rc = options_find_store_of(name, &store, err);
        if (rc == 0)
                rc = store_join(&store, name, writable, ret, err);
        options_unknown(name, &store, rc, err);
        return rc;
}
