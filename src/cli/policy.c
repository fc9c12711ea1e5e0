/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aliquot policy show, check: shows what users may have of the node, as the daemon reports it.
 *
 * The daemon knows the groups of the requester. The groups of another user are looked up by this
 * command, so that the daemon never waits for a user database.
 */
#include "cli/command.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/client_policy.h"
#include "cli/options.h"
#include "cli/remote.h"
#include "cli/request.h"
#include "cli/table.h"
#include "common/json_out.h"
#include "common/text.h"

#define GROUPS_MAX 4096

enum flag { FLAG_PROFILE = 0x300 };

struct policy_call {
        struct view view;
        const char *profile;
        struct request_flags flags;
        struct cli_request request;
        struct table table;
        struct json_out out;
        uint32_t group[GROUPS_MAX];
};

static bool is_word(const struct policy_call *policy, const char *word)
{
        return policy->view.count && strcmp(policy->view.name[0], word) == 0;
}

static bool has_wish(const struct policy_call *policy)
{
        return policy->flags.flag[0].variable || policy->flags.on_end ||
               policy->flags.label_count || policy->flags.any_gpus;
}

static error_t parse(int key, char *value, struct argp_state *state)
{
        struct policy_call *policy = state->input;

        switch (key) {
        case ARGP_KEY_INIT:
                state->child_inputs[0] = &policy->view;
                for (unsigned i = 1; i < 4; i++)
                        state->child_inputs[i] = &policy->flags;
                return 0;
        case FLAG_PROFILE:
                policy->profile = value;
                return 0;
        case ARGP_KEY_END:
                if (!is_word(policy, "show") && !is_word(policy, "check"))
                        argp_error(state, "expected show, or check [USER]");
                if (is_word(policy, "show") &&
                    (policy->view.count > 1 || policy->profile || has_wish(policy)))
                        argp_error(state, "show lists all rules; check USER is about one user");
                return 0;
        default:
                return ARGP_ERR_UNKNOWN;
        }
}

static const struct argp_option argp_options[] = {
        { "profile", FLAG_PROFILE, "NAME", 0, "Check for containers with this profile", 0 },
        { 0 },
};

static const struct argp_child children[] = { { &view_argp, 0, NULL, 0 },
                                              { &request_limits_argp, 0, NULL, 0 },
                                              { &request_gpu_argp, 0, NULL, 0 },
                                              { &request_life_argp, 0, NULL, 0 },
                                              { 0 } };

const struct argp argp_policy = {
        .options = argp_options,
        .parser = parse,
        .args_doc = "show | check [USER] [--memory SIZE ...]",
        .doc = "Show all rules, what USER may take, or whether a session would be refused.",
        .children = children,
};

/* -- The user --------------------------------------------------------------------------------- */

/* Finds a user by name or number. NULL without an error: the number is of no known user, who then
 * has no groups. */
static const struct passwd *find_user(const char *name, uint32_t *ret_uid, struct error *err)
{
        const struct passwd *user = getpwnam(name);
        char *end;
        unsigned long number;

        if (user) {
                *ret_uid = user->pw_uid;
                return user;
        }
        number = strtoul(name, &end, 10);
        if (!text_is_digit(name[0]) || *end || number >= UINT32_MAX) {
                fail(err, -ENOENT, "there is no user %s", text_shown(name));
                return NULL;
        }
        *ret_uid = (uint32_t)number;
        return getpwuid((uid_t)number);
}

static int find_subject(struct policy_call *policy, struct client_subject *ret, struct error *err)
{
        const struct passwd *user;
        int count = GROUPS_MAX;

        *ret = (struct client_subject){ .uid = geteuid(), .profile = policy->profile };
        if (policy->view.count < 2) {
                user = getpwuid(geteuid());
        } else {
                err->code = 0;
                user = find_user(policy->view.name[1], &ret->uid, err);
                if (!user && err->code < 0)
                        return err->code;
        }
        if (!user)
                return 0;
        if (getgrouplist(user->pw_name, user->pw_gid, policy->group, &count) < 0)
                return fail(err, -E2BIG, "user %s is in more than %d groups", user->pw_name,
                            GROUPS_MAX);
        ret->group = policy->group;
        ret->group_count = (unsigned)count;
        return 0;
}

/* -- What is printed -------------------------------------------------------------------------- */

static void put_json(struct policy_call *policy, const struct client_bound *bound)
{
        json_out_open(&policy->out, NULL, '{');
        json_out_text(&policy->out, "key", bound->key);
        json_out_text(&policy->out, "most", bound->most);
        json_out_text(&policy->out, "rule", bound->rule[0] ? bound->rule : NULL);
        json_out_close(&policy->out, '}');
}

static void put_bound(const struct client_bound *bound, void *context)
{
        struct policy_call *policy = context;

        if (policy->view.is_json) {
                put_json(policy, bound);
                return;
        }
        table_cell(&policy->table, "%s", bound->key);
        table_cell(&policy->table, "%s", bound->most);
        table_cell(&policy->table, "%s", bound->rule[0] ? bound->rule : "-");
}

static int ask_daemon(struct policy_call *policy, const struct store *store, struct error *err)
{
        const struct client_bounds bounds = { put_bound, policy };
        struct client_subject subject;
        int rc;

        if (is_word(policy, "show"))
                return client_rules(store, &bounds, err);
        rc = find_subject(policy, &subject, err);
        if (rc < 0 || !has_wish(policy))
                return rc < 0 ? rc : client_check(store, &subject, NULL, &bounds, err);
        policy->request.is_of_node = true;
        rc = request_open_driver(&policy->flags, &policy->request, err);
        if (rc == 0)
                rc = request_resolve(&policy->request, err);
        if (rc == 0)
                rc = remote_check(store, &policy->flags, &policy->request,
                                  &(struct remote_question){ &subject, &bounds }, err);
        return rc;
}

int command_policy(int argc, char **argv)
{
        static struct policy_call policy = { .view.most = 2,
                                             .table.titles = "KEY,MOST,RULE",
                                             .out.stream = NULL };
        struct store store = { 0 };
        struct error err = { 0 };
        int rc;

        options_parse(&(struct cli_options){ argc, argv, STATUS_WRONG }, &argp_policy, 0, &policy);
        policy.out.stream = stdout;
        rc = request_read(&policy.flags, true, &policy.request, &err);
        if (rc < 0)
                return command_fail("policy", STATUS_WRONG, &err);
        rc = options_find_store(&store, &err);
        if (rc == 0)
                rc = client_find(&store, &err);
        if (rc == 0)
                rc = fail(&err, CLIENT_AWAY,
                          "a policy is a daemon's, and none serves %s; start aliquotd", store.path);
        if (rc > 0) {
                json_out_open(&policy.out, NULL, '[');
                rc = ask_daemon(&policy, &store, &err);
                json_out_close(&policy.out, ']');
        }
        if (rc < 0)
                return command_fail("policy", STATUS_NO, &err);
        if (policy.view.is_json)
                return json_out_end(&policy.out) < 0 ? STATUS_NO : STATUS_YES;
        table_print(&policy.table);
        return STATUS_YES;
}
