/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aliquot rm: removes sessions; a session in use only with --force.
 *
 * Without a daemon the session is removed at once, and its programs continue within its limits.
 * With a daemon, its programs get the signal of --on-end, and the session stays until they have
 * ended; a second --force kills them.
 */
#include "cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/names.h"
#include "cli/options.h"
#include "cli/remote.h"
#include "cli/sweep.h"
#include "common/json_out.h"

struct rm_call {
        struct view view;
        bool is_forced;
        bool is_unused;
};

static error_t parse(int key, char *value, struct argp_state *state)
{
        struct rm_call *removal = state->input;

        switch (key) {
        case ARGP_KEY_INIT:
                state->child_inputs[0] = &removal->view;
                return 0;
        case 'f':
                removal->is_forced = true;
                return 0;
        case 'u':
                removal->is_unused = true;
                removal->view.least = 0;
                return 0;
        default:
                return ARGP_ERR_UNKNOWN;
        }
}

static const struct argp_child children[] = { { &view_argp, 0, NULL, 0 }, { 0 } };

static const struct argp_option argp_options[] = {
        { "force", 'f', NULL, 0,
          "Also remove sessions in use: no program can join them any more. Their programs run on; "
          "those of a daemon's session are treated as its --on-end says, and a second --force "
          "kills them",
          0 },
        { "unused", 'u', NULL, 0,
          "Remove unused sessions that have no given name: of limits in the environment "
          "(env-...) and of single runs (run-...)",
          0 },
        { 0 },
};

const struct argp argp_rm = {
        .options = argp_options,
        .parser = parse,
        .args_doc = "SESSION...\n--unused",
        .doc = "Remove sessions.",
        .children = children,
};

/* Returns what --force does to the programs of a session. `on_end` is NULL without a daemon. */
static const char *force_text(const char *on_end)
{
        if (!on_end)
                return "they run on within its limits";
        if (strcmp(on_end, "kill") == 0)
                return "they are killed";
        if (strcmp(on_end, "term") == 0)
                return "they get SIGTERM, and SIGKILL after the grace period";
        return "they run on, without new memory";
}

static int fail_in_use(const struct store *store, const char *name, bool is_daemons,
                       struct error *err)
{
        struct client_session seen = { 0 };

        if (is_daemons && client_show(store, name, &seen, NULL) < 0)
                return fail(err, -EBUSY, "session %s is in use; end its programs, or use --force",
                            name);
        return fail(err, -EBUSY, "session %s is in use; end its programs, or use --force: %s", name,
                    force_text(is_daemons ? seen.on_end : NULL));
}

static void tell_of_programs_left(const char *name)
{
        fprintf(stderr,
                "aliquot rm: session %s is ending, and is gone once its programs have ended; "
                "aliquot rm --force %s kills them\n",
                name, name);
}

/* Returns whether a program of the session has yet to use the GPU. It holds no slot, and only its
 * environment shows its session. */
static bool is_waited_for(const struct store *store, const char *name)
{
        struct store_session session;

        if (store_join(store, name, false, &session, NULL) < 0)
                return false;
        store_close(&session);
        /* the calling script is excepted: it may be in the session that it removes */
        return sweep_is_named(store, name, getppid());
}

/* Asks the daemon to remove a session whose folder is gone: the daemon may still promise its
 * memory. */
static int remove_at_daemon(const struct store *store, const char *name, struct error *err)
{
        int rc = client_find(store, err);

        if (rc > 0)
                rc = client_remove(store, name, true, err);
        return rc == -ENOENT || rc > 0 ? 0 : rc;
}

static int remove_session(const struct store *store, const char *name, bool is_forced,
                          struct error *err)
{
        int rc = settings_check_name("session", name, err);
        bool may_be_daemons = rc == 0 && remote_owner(store, name) == REMOTE_BROKEN;

        bool is_daemons;

        if (rc == 0)
                rc = remote_is_asked(store, name, err);
        if (rc < 0)
                return rc;
        is_daemons = rc > 0;
        if (!is_forced && is_waited_for(store, name))
                return fail_in_use(store, name, is_daemons, err);
        if (!is_daemons) {
                rc = store_remove(store, name, is_forced, err);
                if (rc == -EBUSY && !is_forced)
                        return fail_in_use(store, name, false, err);
                return rc == 0 && may_be_daemons ? remove_at_daemon(store, name, err) : rc;
        }
        rc = client_remove(store, name, is_forced, err);
        if (rc == -EBUSY && !is_forced)
                return fail_in_use(store, name, true, err);
        if (rc > 0)
                tell_of_programs_left(name);
        return rc < 0 ? rc : 0;
}

/* Returns whether the JSON output is a list. For a single session given by the user it is not. */
static bool names_a_list(const struct rm_call *call)
{
        return call->is_unused || call->view.count > 1;
}

struct dismissal {
        struct rm_call call;
        struct json_out out;
        struct store store;
        int status; /* status of the last failure */
};

static void tell_removed(struct dismissal *dismissal, const char *name)
{
        bool is_list = names_a_list(&dismissal->call);

        if (dismissal->call.view.is_json)
                json_out_text(&dismissal->out, is_list ? NULL : "removed", name);
        else if (dismissal->call.is_unused)
                puts(name);
}

static void remove_named(struct dismissal *dismissal, const char *name)
{
        struct error err = { 0 };
        int rc = options_find_store_of(name, &dismissal->store, &err);

        if (rc == 0)
                rc = remove_session(&dismissal->store, name, dismissal->call.is_forced, &err);
        if (rc < 0)
                dismissal->status = command_fail(
                        "rm", STATUS_NO, options_unknown(name, &dismissal->store, rc, &err));
        else
                tell_removed(dismissal, name);
}

/* Removes an unused session that was created from limits in the environment; the next program with
 * the same limits creates it again. Never removes a daemon's session. */
static bool remove_hashed(const struct store *store, const char *name)
{
        return strncmp(name, SETTINGS_HASH_STEM, strlen(SETTINGS_HASH_STEM)) == 0 &&
               remote_owner(store, name) == REMOTE_OURS && !sweep_is_named(store, name, 0) &&
               !sweep_is_mapped(store, name) && store_remove(store, name, false, NULL) == 0;
}

static void remove_unused(struct dismissal *dismissal)
{
        struct error err = { 0 };
        struct names names = { 0 };
        int rc = options_find_store(&dismissal->store, &err);

        if (rc == -ENOENT)
                return;
        if (rc == 0)
                rc = names_read(&dismissal->store, &names, &err);
        if (rc < 0) {
                dismissal->status = command_fail("rm", STATUS_NO, &err);
                return;
        }
        for (size_t i = 0; i < names.count; i++) {
                if (sweep_old(&dismissal->store, names.at[i]) ||
                    remove_hashed(&dismissal->store, names.at[i]))
                        tell_removed(dismissal, names.at[i]);
        }
        names_free(&names);
}

int command_rm(int argc, char **argv)
{
        static struct dismissal dismissal = {
                .call.view = { .least = 1,
                               .most = sizeof(dismissal.call.view.name) / sizeof(char *) },
                .status = STATUS_YES
        };
        const struct view *view = &dismissal.call.view;
        struct json_out *out = &dismissal.out;

        options_parse(&(struct cli_options){ argc, argv, STATUS_WRONG }, &argp_rm, 0,
                      &dismissal.call);
        out->stream = stdout;
        json_out_open(out, NULL, '{');
        if (names_a_list(&dismissal.call))
                json_out_open(out, "removed", '[');
        for (unsigned i = 0; i < view->count; i++)
                remove_named(&dismissal, view->name[i]);
        if (dismissal.call.is_unused)
                remove_unused(&dismissal);
        if (!view->is_json || (dismissal.status != STATUS_YES && !names_a_list(&dismissal.call))) {
                json_out_free(out);
                return dismissal.status;
        }
        if (names_a_list(&dismissal.call))
                json_out_close(out, ']');
        json_out_close(out, '}');
        return json_out_end(out) < 0 ? STATUS_NO : dismissal.status;
}
