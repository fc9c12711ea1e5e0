/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aliquot env: prints the variables that `run` would set, for a shell or an image that sets them
 * itself.
 *
 * It creates nothing: the first program creates the session. Without --session, the session's name
 * is made from its limits, so all programs with this environment share one session. If there is no
 * driver (while an image is being built), what needs a driver is checked when that program starts.
 */
#include "cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/enter.h"
#include "cli/exports.h"
#include "cli/options.h"
#include "cli/request.h"
#include "common/json_out.h"

struct env_call {
        struct view view;
        struct request_flags flags;
        struct cli_request request;
};

static error_t parse(int key, char *value, struct argp_state *state)
{
        struct env_call *wish = state->input;

        if (key != ARGP_KEY_INIT)
                return ARGP_ERR_UNKNOWN;
        state->child_inputs[0] = &wish->view;
        for (unsigned i = 1; i < 5; i++)
                state->child_inputs[i] = &wish->flags;
        return 0;
}

static const struct argp_child children[] = {
        { &view_argp, 0, NULL, 0 },        { &request_limits_argp, 0, NULL, 0 },
        { &request_gpu_argp, 0, NULL, 0 }, { &request_session_argp, 0, NULL, 0 },
        { &request_sim_argp, 0, NULL, 0 }, { 0 },
};

const struct argp argp_env = {
        .parser = parse,
        .doc = "Print the environment that aliquot run would give, as lines for a shell."
               "\vExample: eval \"$(aliquot env --session me --memory 4GiB)\". Without --session "
               "all "
               "programs with this environment share one session.\n",
        .children = children,
};

static int print_json(const struct exports *exports)
{
        struct json_out out = { .stream = stdout };

        json_out_open(&out, NULL, '{');
        for (unsigned i = 0; i < exports->count; i++) {
                if (!exports_is_last(exports, i))
                        continue;
                json_out_text(&out, exports->entry[i].name, exports->entry[i].value);
        }
        json_out_close(&out, '}');
        return json_out_end(&out);
}

/* Warns that a daemon serves the folder. The variables are printed anyway: in an image, the user
 * means the runtime folder of another machine. */
static void warn_of_daemon(const struct cli_request *request)
{
        struct store store;

        if (enter_has_wishes(&request->settings) && options_find_store(&store, NULL) == 0 &&
            access(store.path, W_OK) < 0 && store_try_daemon(&store) == 0)
                fprintf(stderr,
                        "aliquot env: note: only the daemon of %s makes sessions there, and a "
                        "program with this environment alone asks no daemon; aliquot create makes "
                        "the session, and aliquot env --session NAME joins it\n",
                        store.path);
}

int command_env(int argc, char **argv)
{
        static struct env_call wish;
        static struct exports exports;
        struct cli_request *request = &wish.request;
        const struct settings *settings = &request->settings;
        struct error err = { 0 };
        int rc;

        options_parse(&(struct cli_options){ argc, argv, STATUS_REFUSED }, &argp_env, 0, &wish);
        request->may_lack_driver = true;
        rc = request_read(&wish.flags, false, request, &err);
        if (rc == 0 && request_daemon_wish(&wish.flags, request))
                rc = fail(&err, -EINVAL,
                          "%s: a program with this environment alone asks no daemon; aliquot "
                          "create makes the session, and --session joins it",
                          request_daemon_wish(&wish.flags, request));
        if (rc == 0)
                rc = request_open_driver(&wish.flags, request, &err);
        if (rc == 0)
                rc = request_resolve(request, &err);
        if (rc == 0)
                rc = exports_make(&(struct exports_about){ .request = request,
                                                           .session = settings->session,
                                                           .runtime_dir = settings->runtime_dir,
                                                           .with_limits = true },
                                  &exports, &err);
        if (rc < 0)
                return command_fail("env", STATUS_REFUSED, &err);
        warn_of_daemon(request);
        if (wish.view.is_json)
                return print_json(&exports) < 0 ? STATUS_NO : STATUS_YES;
        exports_print(&exports, stdout);
        return STATUS_YES;
}
