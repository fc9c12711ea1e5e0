/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aliquot run: runs a program in a session. Everything is checked before anything is created or
 * started.
 *
 * In a session with a name given by the user, the command is replaced by the program (exec). For a
 * new session of its own, it runs the program as a child, and removes the session when the child
 * ends (sweep.h).
 */
#include "cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/enter.h"
#include "cli/exports.h"
#include "cli/options.h"
#include "cli/request.h"
#include "cli/child.h"
#include "cli/sweep.h"
#include "cli/target.h"
#include "cli/usage.h"
#include "common/atomic.h"
#include "common/machine_clock.h"
#include "common/text.h"

struct run_call {
        bool is_quiet;
        /* start of the command by the machine's clock, before the session was created */
        uint64_t began_ns;
        struct request_flags flags;
        char **command;
        struct cli_request request;
        struct target target;
        struct entrance entrance;
};

static error_t parse(int key, char *value, struct argp_state *state)
{
        struct run_call *run = state->input;

        switch (key) {
        case ARGP_KEY_INIT:
                for (unsigned i = 0; i < 5; i++)
                        state->child_inputs[i] = &run->flags;
                return 0;
        case 'q':
                run->is_quiet = true;
                return 0;
        case ARGP_KEY_ARG:
                /* all further words belong to the program */
                run->command = &state->argv[state->next - 1];
                state->next = state->argc;
                return 0;
        case ARGP_KEY_NO_ARGS:
                argp_error(state, "no command given; as in: aliquot run --memory 4GiB -- prog");
                return 0;
        default:
                return ARGP_ERR_UNKNOWN;
        }
}

static const struct argp_child children[] = {
        { &request_limits_argp, 0, NULL, 0 },  { &request_gpu_argp, 0, NULL, 0 },
        { &request_session_argp, 0, NULL, 0 }, { &request_life_argp, 0, NULL, 0 },
        { &request_sim_argp, 0, NULL, 0 },     { 0 },
};

static const struct argp_option argp_options[] = {
        { "quiet", 'q', NULL, 0, "Do not print notes on standard error", 0 },
        { 0 },
};

const struct argp argp_run = {
        .options = argp_options,
        .parser = parse,
        .args_doc = "[--] COMMAND [ARG...]",
        .doc = "Run a program whose GPU memory is limited."
               "\vSIZE: 4GiB, 512MB, 25%. Exit status: the program's; 125: nothing was started.\n",
        .children = children,
};

/* Returns whether a word looks like a spec, for example "gpus=2" after a --sim without "=": the
 * user meant --sim=gpus=2, and few programs have such a name. */
static bool is_spec(const char *word)
{
        size_t key = strspn(word, "abcdefghijklmnopqrstuvwxyz_-");

        return key > 0 && word[key] == '=';
}

static int find_target(struct run_call *run, struct error *err)
{
        const char *program = run->command[0];
        int rc = target_find(program, &run->target, err);

        if (rc == STATUS_NOT_FOUND && run->flags.is_sim && !run->flags.sim_spec && is_spec(program))
                fail(err, -ENOENT, "%s: there is no such program; did you mean --sim=%s",
                     text_shown(program), text_shown(program));
        return rc;
}

static int prepare_request(struct run_call *run, struct error *err)
{
        int rc = request_read(&run->flags, false, &run->request, err);

        if (rc == 0)
                rc = request_open_driver(&run->flags, &run->request, err);
        if (rc < 0)
                return STATUS_REFUSED;
        rc = find_target(run, err);
        if (rc != 0)
                return rc;
        return request_resolve(&run->request, err) < 0 ? STATUS_REFUSED : 0;
}

static int prepare_session(struct run_call *run, struct error *err)
{
        static struct exports exports;
        struct entrance *entrance = &run->entrance;
        int rc = enter_session(&run->flags, &run->request, entrance, err);

        if (rc < 0)
                return rc;
        if (entrance->is_fresh)
                rc = sweep_keep(&entrance->session, err);
        if (rc == 0)
                rc = remote_narrow(&entrance->session, &run->request, err);
        if (rc == 0)
                rc = exports_make(
                        &(struct exports_about){
                                .request = &run->request,
                                .session = entrance->name,
                                .runtime_dir = entrance->store.path,
                                /* if a daemon granted the session and removed it, the program must
                                 * not create it again */
                                .with_limits = enter_has_wishes(&run->request.settings) &&
                                               !enter_is_daemons(entrance),
                        },
                        &exports, err);
        return rc < 0 ? rc : exports_apply(&exports, err);
}

static bool has_limit(const struct store_session *session)
{
        const struct limits_page *page = session->limits;

        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                if (usage_has_row(session, i) &&
                    load_acquire(shared_word(&page->device[i].limit_bytes)) != PAGE_UNLIMITED)
                        return true;
        }
        return load_acquire(shared_word(&page->default_limit_bytes)) != PAGE_UNLIMITED;
}

static void note_no_limit(const struct run_call *run)
{
        if (!run->is_quiet && !has_limit(&run->entrance.session))
                fputs("aliquot run: note: no memory limit is set; --memory SIZE sets one, --quiet "
                      "leaves this note out\n",
                      stderr);
}

static const char *ttl_as_typed(const struct request_flags *flags)
{
        for (unsigned i = 0; flags->flag[i].variable; i++) {
                if (strcmp(flags->flag[i].variable, "ALIQUOT_TTL") == 0)
                        return flags->flag[i].value;
        }
        return NULL;
}

/* Tells the user that the session ended by its TTL or was removed: the program saw only an
 * out-of-memory error or a signal, without the reason. */
static void note_ended(const struct run_call *run)
{
        const struct settings *settings = &run->request.settings;
        const struct entrance *entrance = &run->entrance;
        const char *ttl = ttl_as_typed(&run->flags), *on_end = run->flags.on_end;
        bool is_due = settings->ttl_ns && clock_machine_ns() - run->began_ns >= settings->ttl_ns;

        if (run->is_quiet || !enter_is_daemons(entrance) || store_is_current(&entrance->session))
                return;
        fprintf(stderr, "aliquot run: note: session %s ended before its program", entrance->name);
        if (is_due && ttl)
                fprintf(stderr, ": its TTL of %s was over", text_shown(ttl));
        else if (is_due)
                fputs(": its TTL was over", stderr);
        if (on_end)
                fprintf(stderr, " (%s)", text_shown(on_end));
        fputc('\n', stderr);
}

static int start_program(struct run_call *run, struct error *err)
{
        const struct entrance *entrance = &run->entrance;
        int status;

        if (!entrance->is_fresh) {
                status = child_replace(run->target.path, run->command, err);
                return command_fail("run", status, err);
        }
        status = child_wait(run->target.path, run->command, err);
        note_ended(run);
        sweep_one(&entrance->store, entrance->name);
        return status < 0 ? command_fail("run", STATUS_REFUSED, err) : child_end_alike(status);
}

int command_run(int argc, char **argv)
{
        static struct run_call run = { .flags.may_start_daemon = true };
        struct error err = { 0 };
        int status;

        options_parse(&(struct cli_options){ argc, argv, STATUS_REFUSED }, &argp_run, ARGP_IN_ORDER,
                      &run);
        run.began_ns = clock_machine_ns();
        status = prepare_request(&run, &err);
        if (status != 0)
                return command_fail("run", status, &err);
        if (prepare_session(&run, &err) < 0) {
                if (run.entrance.is_fresh && run.entrance.is_created)
                        sweep_one(&run.entrance.store, run.entrance.name);
                return command_fail("run", STATUS_REFUSED, &err);
        }
        sweep_all(&run.entrance.store);
        note_no_limit(&run);
        if (!run.is_quiet)
                enter_note_passed("run", &run.request, &run.entrance);
        return start_program(&run, &err);
}
