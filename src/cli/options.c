/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options.h"

#include <errno.h>
#include <stdlib.h>

void options_parse(const struct options *options, const struct argp *argp, unsigned flags,
                   void *input)
{
        argp_err_exit_status = options->wrong_status;
        if (argp_parse(argp, options->argc, options->argv, flags, NULL, input) != 0)
                exit(options->wrong_status);
}

static const struct argp_option view_options[] = {
        { "json", 'j', NULL, 0, "Print JSON", 0 },
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
        default:
                return ARGP_ERR_UNKNOWN;
        }
}

const struct argp view_argp = { .options = view_options, .parser = parse_view };

int options_find_store(struct store *ret, struct error *err)
{
        const char *asked = getenv("ALIQUOT_RUNTIME_DIR");

        if (asked && asked[0] && asked[0] != '/')
                return fail(err, -EINVAL, "ALIQUOT_RUNTIME_DIR=%s: expected an absolute path",
                            asked);
        return store_find(ret, asked, false, err);
}

int options_open_session(const char *name, bool writable, struct store_session *ret,
                         struct error *err)
{
        struct store store = { 0 };
        int rc = settings_check_name("session", name, err);

        if (rc == 0)
                rc = options_find_store(&store, err);
        if (rc == 0)
                rc = store_join(&store, name, writable, ret, err);
        if (rc == -ENOENT)
                return fail(err, rc, "there is no session %s%s%s; aliquot ls shows those there are",
                            name, store.path[0] ? " in " : "", store.path);
        return rc;
}
