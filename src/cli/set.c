/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aliquot set: changes the limits of a session while its programs run.
 *
 * GPUs are those of this machine. If the session has others (because it uses another driver than
 * the one that this command finds), the GPUs in the session's rows are used instead, in their
 * order.
 */
#include "cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/client.h"
#include "cli/options.h"
#include "cli/remote.h"
#include "cli/request.h"
#include "cli/views.h"

/* Keys of options, in addition to those of request.h. */
enum set_key { KEY_SWAP_MODE = 0x2000, KEY_SWAP_TURN };

struct set_call {
        struct view view;
        struct request_flags flags;
        struct cli_request request;
        const char *mode, *turn; /* the node's rules for swapping; NULL: not given */
};

static bool has_wish(const struct request_flags *flags)
{
        return flags->flag[0].variable || flags->on_end || flags->label_count;
}

/* Returns whether the command changes the node's rules for swapping; then no session is given. */
static bool is_of_node(const struct set_call *change)
{
        return change->mode || change->turn;
}

static void check_words(const struct set_call *change, struct argp_state *state)
{
        if (is_of_node(change) && (change->view.count || has_wish(&change->flags)))
                argp_error(state,
                           "--swap-mode and --swap-turn are of the node; leave the session and "
                           "its limits out");
        if (is_of_node(change))
                return;
        if (!change->view.count)
                argp_error(state, "which session? aliquot ls lists them");
        if (!has_wish(&change->flags))
                argp_error(state, "nothing to set; as in: aliquot set %s --memory 4GiB",
                           change->view.name[0]);
}

static error_t parse(int key, char *value, struct argp_state *state)
{
        struct set_call *change = state->input;

        switch (key) {
        case ARGP_KEY_INIT:
                state->child_inputs[0] = &change->view;
                state->child_inputs[1] = &change->flags;
                state->child_inputs[2] = &change->flags;
                state->child_inputs[3] = &change->flags;
                return 0;
        case KEY_SWAP_MODE:
                change->mode = value;
                return 0;
        case KEY_SWAP_TURN:
                change->turn = value;
                return 0;
        case ARGP_KEY_END:
                check_words(change, state);
                return 0;
        default:
                return ARGP_ERR_UNKNOWN;
        }
}

static const struct argp_child children[] = { { &view_argp, 0, NULL, 0 },
                                              { &request_change_argp, 0, NULL, 0 },
                                              { &request_life_argp, 0, NULL, 0 },
                                              { &request_sim_argp, 0, NULL, 0 },
                                              { 0 } };

static const struct argp_option argp_options[] = {
        { "swap-mode", KEY_SWAP_MODE, "WORD", 0,
          "How the node gives turns of memory: auto, serial, parallel", 0 },
        { "swap-turn", KEY_SWAP_TURN, "TIME", 0, "Length of such a turn on the node, or none", 0 },
        { 0 },
};

const struct argp argp_set = {
        .options = argp_options,
        .parser = parse,
        .args_doc = "SESSION --memory SIZE",
        .doc = "Change the limits of a session, also while its programs run."
               "\vA limit below current use takes nothing back: new memory is refused until use is "
               "below the limit. Contexts and the card's name stay as the session was made.\n",
        .children = children,
};

/* Uses the session's rows as the list of GPUs. */
static void gpus_from_rows(const struct store_session *session, struct settings_gpus *ret)
{
        ret->count = 0;
        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                const struct limits_device *device = &session->limits->device[i];
                struct settings_gpu *gpu = &ret->gpu[ret->count];

                if (!usage_has_row(session, i))
                        continue;
                memcpy(gpu->uuid, device->uuid, sizeof(gpu->uuid));
                gpu->card_bytes = device->card_bytes;
                gpu->is_instance = false;
                ret->count++;
        }
}

static bool has_gpus_of(const struct store_session *session, const struct cards *cards)
{
        unsigned rows = 0;

        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                if (!usage_has_row(session, i))
                        continue;
                rows++;
                for (unsigned j = 0; j < cards->count; j++) {
                        if (memcmp(cards->card[j].uuid, session->limits->device[i].uuid, 16) == 0)
                                return true;
                }
        }
        return rows == 0;
}

static int resolve_limits(struct set_call *change, const struct store_session *session,
                          struct error *err)
{
        struct cli_request *request = &change->request;
        int rc = request_open_driver(&change->flags, request, err);

        if (rc < 0)
                return rc;
        request->is_of_node = true;
        if (request_cards(request, session ? NULL : err) == 0 &&
            (!session || has_gpus_of(session, &request->cards)))
                cards_as_gpus(&request->cards, &request->gpus);
        else if (!session)
                return err->code;
        else
                gpus_from_rows(session, &request->gpus);
        return settings_resolve(&request->settings, &request->gpus, &request->limits, err);
}

/* Refuses changes of settings that are fixed when a session is created. */
static int refuse_fixed(const struct settings *settings, struct error *err)
{
        if (settings->device_name[0])
                return fail(err, -EINVAL,
                            "--device-name %s: fixed when the session is made; make another",
                            settings->device_name);
        if (settings->host_bytes)
                return fail(err, -EINVAL,
                            "--oversubscribe: fixed when the session is made; make another");
        if (settings->swaps)
                return fail(err, -EINVAL, "--swap: fixed when the session is made; make another");
        if (settings->is_context_free)
                return fail(err, -EINVAL,
                            "--context free: fixed when the session is made; make another");
        return 0;
}

static int change_here(struct set_call *change, const char *name, struct error *err)
{
        const char *daemon_wish = request_daemon_wish(&change->flags, &change->request);
        struct store_session session;
        int rc = options_open_session(name, true, &session, err);

        if (rc < 0)
                return rc;
        if (daemon_wish)
                rc = fail(err, -EINVAL,
                          "%s: session %s was made without a daemon, and only a daemon does that",
                          daemon_wish, name);
        if (rc == 0)
                rc = resolve_limits(change, &session, err);
        if (rc == 0)
                rc = store_set(&session, &change->request.limits, err);
        store_close(&session);
        return rc;
}

/* Asks the daemon for the change. If the change has memory limits or names GPUs, finds out first
 * which GPUs are meant: those of the session, or, if this process cannot join the session (for
 * example because it is another user's), those of this machine. */
static int change_remotely(struct set_call *change, const struct store *store, struct error *err)
{
        const char *name = change->view.name[0];
        struct store_session session = { 0 };
        int rc = 0;

        if (change->request.settings.memory.count ||
            settings_names_gpus(&change->request.settings.compute)) {
                if (store_join(store, name, false, &session, NULL) < 0)
                        session.limits = NULL;
                rc = resolve_limits(change, session.limits ? &session : NULL, err);
                if (session.limits)
                        store_close(&session);
        }
        return rc < 0 ? rc : remote_change(store, &change->flags, &change->request, name, err);
}

static int print_rules(const struct client_rules *rules, bool is_json)
{
        if (is_json && rules->turn_ns)
                printf("{\"mode\": \"%s\", \"turn_seconds\": %.9g}\n", rules->mode,
                       (double)rules->turn_ns / 1e9);
        else if (is_json)
                printf("{\"mode\": \"%s\", \"turn_seconds\": null}\n", rules->mode);
        else
                printf("mode       %s\n", rules->mode);
        if (!is_json && rules->turn_ns)
                printf("turn       %g s\n", (double)rules->turn_ns / 1e9);
        return STATUS_YES;
}

static int change_node(const struct set_call *change)
{
        struct client_rules rules = { 0 };
        struct store store = { 0 };
        struct error err = { 0 };
        int rc = options_find_store(&store, &err);

        if (rc == 0)
                rc = client_find(&store, &err);
        if (rc == 0)
                rc = fail(&err, CLIENT_AWAY,
                          "no daemon serves %s, and only a daemon deals turns of memory",
                          store.path);
        if (rc > 0)
                rc = client_rule(&store, change->mode, change->turn, &rules, &err);
        return rc < 0 ? command_fail("set", STATUS_NO, &err)
                      : print_rules(&rules, change->view.is_json);
}

int command_set(int argc, char **argv)
{
        static struct set_call change = { .view = { .most = 1 } };
        struct store store = { 0 };
        struct error err = { 0 };
        const char *name;
        int rc;

        options_parse(&(struct cli_options){ argc, argv, STATUS_WRONG }, &argp_set, 0, &change);
        if (is_of_node(&change))
                return change_node(&change);
        name = change.view.name[0];
        rc = request_read(&change.flags, true, &change.request, &err);
        if (rc == 0)
                rc = refuse_fixed(&change.request.settings, &err);
        if (rc < 0)
                return command_fail("set", STATUS_WRONG, &err);
        rc = options_find_store_of(name, &store, &err);
        if (rc == 0)
                rc = settings_check_name("session", name, &err);
        if (rc == 0)
                rc = remote_is_asked(&store, name, &err);
        if (rc >= 0)
                rc = rc ? change_remotely(&change, &store, &err) : change_here(&change, name, &err);
        if (rc == 0)
                rc = views_named(&store, name, change.view.is_json, &err);
        return rc < 0 ? command_fail("set", STATUS_NO, options_unknown(name, &store, rc, &err))
                      : STATUS_YES;
}
