/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aliquot events: prints the daemon's events as they happen, one per line.
 */
#include "cli/command.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/client_events.h"
#include "cli/options.h"
#include "common/text.h"
#include "settings/settings.h"

struct following {
        struct view view;
        struct client_hearing hearing;
        uint64_t most; /* maximum number of events; 0: no maximum */
        uint64_t seen;
};

static int64_t read_number(struct argp_state *state, const char *flag, const char *value)
{
        size_t digits = strspn(value, "0123456789");

        if (!digits || value[digits] || digits > 18)
                argp_error(state, "%s %s: expected a whole number", flag, text_shown(value));
        return strtoll(value, NULL, 10);
}

static error_t parse(int key, char *value, struct argp_state *state)
{
        struct following *following = state->input;

        switch (key) {
        case ARGP_KEY_INIT:
                state->child_inputs[0] = &following->view;
                return 0;
        case 's':
                following->hearing.since = read_number(state, "--since", value);
                following->hearing.has_since = true;
                return 0;
        case 'l':
                following->hearing.last = read_number(state, "--last", value);
                following->hearing.has_last = true;
                return 0;
        case ARGP_KEY_END:
                if (following->hearing.has_since && following->hearing.has_last)
                        argp_error(state, "--since and --last: choose one");
                return 0;
        case 'n':
                following->most = (uint64_t)read_number(state, "--count", value);
                return 0;
        default:
                return ARGP_ERR_UNKNOWN;
        }
}

static const struct argp_child children[] = { { &view_argp, 0, NULL, 0 }, { 0 } };

static const struct argp_option argp_options[] = {
        { "since", 's', "ID", 0, "Begin after event number ID; 0: with the first", 0 },
        { "last", 'l', "N", 0, "Begin with the last N events of all sessions", 0 },
        { "count", 'n', "N", 0, "Exit after N events", 0 },
        { 0 },
};

const struct argp argp_events = {
        .options = argp_options,
        .parser = parse,
        .args_doc = "[SESSION]",
        .doc = "Follow what the daemon does: who made, changed or ended what, and when."
               "\vWith --json each line is one event. The command runs until it is interrupted.\n",
        .children = children,
};

static bool print_event(const struct client_event *event, void *context)
{
        struct following *following = context;

        if (following->view.is_json)
                puts(event->json);
        else
                printf("%lld  %s  %-8s  %-10s  %s  %s\n", (long long)event->id, event->time,
                       event->type, event->session[0] ? event->session : "-", event->who,
                       event->detail);
        following->seen++;
        return fflush(stdout) == 0 && following->seen != following->most;
}

/* Returns whether the output still has a reader. The reader may close the pipe while there are no
 * events, as `head` does. */
static bool has_reader(void *context)
{
        struct pollfd output = { .fd = STDOUT_FILENO };

        return poll(&output, 1, 0) <= 0 || !(output.revents & (POLLERR | POLLHUP));
}

int command_events(int argc, char **argv)
{
        struct following following = { .view.most = 1, .hearing.is_wanted = has_reader };
        struct store store = { 0 };
        struct error err = { 0 };
        const char **session = &following.hearing.session;
        int rc;

        options_parse(&(struct cli_options){ argc, argv, STATUS_WRONG }, &argp_events, 0,
                      &following);
        *session = following.view.count ? following.view.name[0] : NULL;
        rc = *session ? settings_check_name("session", *session, &err) : 0;
        if (rc < 0)
                return command_fail("events", STATUS_WRONG, &err);
        rc = options_find_store(&store, &err);
        if (rc == 0)
                rc = client_find(&store, &err);
        if (rc == 0 || rc == -ENOENT)
                rc = fail(&err, CLIENT_AWAY,
                          "events are a daemon's, and none serves %s; start aliquotd",
                          store.path[0] ? store.path : "this user");
        if (rc > 0)
                rc = client_events(&store, &following.hearing, print_event, &following, &err);
        return rc < 0 ? command_fail("events", STATUS_NO, &err) : STATUS_YES;
}
