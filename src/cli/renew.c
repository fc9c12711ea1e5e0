/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aliquot renew: sets a new end for a session of a daemon, counted from now.
 */
#include "cli/command.h"

#include <errno.h>

#include "cli/options.h"
#include "cli/remote.h"
#include "cli/views.h"

struct renewal {
        struct view view;
        struct request_flags flags;
        struct cli_request request;
};

static error_t parse(int key, char *value, struct argp_state *state)
{
        struct renewal *renewal = state->input;

        switch (key) {
        case ARGP_KEY_INIT:
                state->child_inputs[0] = &renewal->view;
                return 0;
        case 't':
                renewal->flags.flag[0] = (struct settings_flag){ "ALIQUOT_TTL", "--ttl", value };
                return 0;
        default:
                return ARGP_ERR_UNKNOWN;
        }
}

static const struct argp_child children[] = { { &view_argp, 0, NULL, 0 }, { 0 } };

static const struct argp_option argp_options[] = {
        { "ttl", 't', "TIME", 0, "New TTL, such as 30m (default: the last one)", 0 },
        { 0 },
};

const struct argp argp_renew = {
        .options = argp_options,
        .parser = parse,
        .args_doc = "SESSION",
        .doc = "Start the TTL of a session again.",
        .children = children,
};

static int renew_session(const struct store *store, const char *name,
                         const struct settings *settings, struct error *err)
{
        const struct client_wish wish = { .has_ttl = settings->has_ttl,
                                          .ttl_ns = settings->ttl_ns };
        int rc = remote_is_asked(store, name, err);

        if (rc == 0 && remote_owner(store, name) == REMOTE_NOBODY)
                return -ENOENT;
        if (rc == 0)
                return fail(err, -EINVAL,
                            "session %s was made without a daemon: it does not end by itself",
                            name);
        return rc < 0 ? rc : client_renew(store, name, &wish, err);
}

int command_renew(int argc, char **argv)
{
        static struct renewal renewal = { .view = { .least = 1, .most = 1 } };
        const struct settings *settings = &renewal.request.settings;
        struct store store = { 0 };
        struct error err = { 0 };
        const char *name;
        int rc;

        options_parse(&(struct cli_options){ argc, argv, STATUS_WRONG }, &argp_renew, 0, &renewal);
        name = renewal.view.name[0];
        rc = request_read(&renewal.flags, true, &renewal.request, &err);
        if (rc == 0 && settings->has_ttl && !settings->ttl_ns)
                rc = fail(&err, -EINVAL, "--ttl none: aliquot set %s --ttl none takes the end away",
                          name);
        if (rc < 0)
                return command_fail("renew", STATUS_WRONG, &err);
        rc = settings_check_name("session", name, &err);
        if (rc == 0)
                rc = options_find_store_of(name, &store, &err);
        if (rc == 0)
                rc = renew_session(&store, name, settings, &err);
        if (rc == 0)
                rc = views_named(&store, name, renewal.view.is_json, &err);
        return rc < 0 ? command_fail("renew", STATUS_NO, options_unknown(name, &store, rc, &err))
                      : STATUS_YES;
}
