/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aliquot create: creates a session without programs.
 */
#include "cli/command.h"

#include <errno.h>

#include "cli/enter.h"
#include "cli/options.h"
#include "cli/remote.h"
#include "cli/request.h"
#include "cli/views.h"

struct creation {
        struct view view;
        struct request_flags flags;
        struct cli_request request;
};

static error_t parse(int key, char *value, struct argp_state *state)
{
        struct creation *creation = state->input;
        unsigned count = 0;

        switch (key) {
        case ARGP_KEY_INIT:
                state->child_inputs[0] = &creation->view;
                for (unsigned i = 1; i < 5; i++)
                        state->child_inputs[i] = &creation->flags;
                return 0;
        case ARGP_KEY_END:
                if (!creation->view.count)
                        argp_error(state, "give it a name");
                while (creation->flags.flag[count].variable)
                        count++;
                creation->flags.flag[count] = (struct settings_flag){ "ALIQUOT_SESSION", "session",
                                                                      creation->view.name[0] };
                return 0;
        default:
                return ARGP_ERR_UNKNOWN;
        }
}

static const struct argp_child children[] = {
        { &view_argp, 0, NULL, 0 },        { &request_limits_argp, 0, NULL, 0 },
        { &request_gpu_argp, 0, NULL, 0 }, { &request_life_argp, 0, NULL, 0 },
        { &request_sim_argp, 0, NULL, 0 }, { 0 }
};

const struct argp argp_create = {
        .parser = parse,
        .args_doc = "NAME --memory SIZE",
        .doc = "Make a session, for programs to join later.",
        .children = children,
};

static int fail_taken(const struct entrance *entrance, struct error *err)
{
        struct store_session session;
        int rc = store_join(&entrance->store, entrance->name, false, &session, NULL);

        if (rc == 0)
                store_close(&session);
        if (rc == -EBUSY)
                return fail(err, -EEXIST,
                            "session %s is ending and has its name until its programs have ended; "
                            "aliquot rm --force %s kills them",
                            entrance->name, entrance->name);
        if (remote_is_anothers(&entrance->store, entrance->name))
                return fail(err, -EEXIST,
                            "session %s exists already: another user has the name; choose another",
                            entrance->name);
        return fail(err, -EEXIST, "session %s exists already; aliquot set changes it",
                    entrance->name);
}

int command_create(int argc, char **argv)
{
        static struct creation creation = { .view.most = 1 };
        static struct entrance entrance;
        struct cli_request *request = &creation.request;
        struct error err = { 0 };
        int rc;

        options_parse(&(struct cli_options){ argc, argv, STATUS_WRONG }, &argp_create, 0,
                      &creation);
        rc = request_read(&creation.flags, false, request, &err);
        if (rc < 0)
                return command_fail("create", STATUS_WRONG, &err);
        request->is_of_node = true;
        rc = request_open_driver(&creation.flags, request, &err);
        if (rc == 0)
                rc = request_resolve(request, &err);
        if (rc == 0)
                request_bound(request);
        if (rc == 0)
                rc = enter_new(&creation.flags, request, &entrance, &err);
        if (rc == -EEXIST)
                fail_taken(&entrance, &err);
        if (rc == 0)
                enter_note_passed("create", request, &entrance);
        if (rc == 0 && creation.view.is_json)
                rc = views_named(&entrance.store, entrance.name, true, &err);
        return rc < 0 ? command_fail("create", STATUS_NO, &err) : STATUS_YES;
}
