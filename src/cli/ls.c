/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aliquot ls: the sessions of the runtime folder.
 */
#include "cli/command.h"

#include <errno.h>
#include <stdio.h>

#include "cli/options.h"
#include "cli/sweep.h"
#include "cli/table.h"
#include "cli/views.h"

static error_t parse(int key, char *value, struct argp_state *state)
{
        if (key != ARGP_KEY_INIT)
                return ARGP_ERR_UNKNOWN;
        state->child_inputs[0] = state->input;
        return 0;
}

static const struct argp_child children[] = { { &view_argp, 0, NULL, 0 }, { 0 } };

const struct argp argp_ls = {
        .parser = parse,
        .doc = "List the sessions.",
        .children = children,
};

struct listing {
        const struct store *store;
        bool is_json;
        struct json_out out;
        struct table table;
};

static void add_good(struct listing *listing, const char *name, const struct store_session *session,
                     const struct usage *usage)
{
        if (listing->is_json) {
                json_out_open(&listing->out, NULL, '{');
                json_out_text(&listing->out, "name", name);
                json_out_u64(&listing->out, "processes", usage->count);
                json_out_u64(&listing->out, "used_bytes", usage->total_bytes);
                json_out_text(&listing->out, "created_as", session->limits->created_as);
                json_out_null(&listing->out, "error");
                json_out_close(&listing->out, '}');
                return;
        }
        table_cell(&listing->table, "%s", name);
        table_cell(&listing->table, "%u", usage->count);
        table_bytes(&listing->table, usage->total_bytes);
        table_cell(&listing->table, "%s", session->limits->created_as);
}

static void add_broken(struct listing *listing, const char *name, const struct error *err)
{
        if (listing->is_json) {
                json_out_open(&listing->out, NULL, '{');
                json_out_text(&listing->out, "name", name);
                json_out_null(&listing->out, "processes");
                json_out_null(&listing->out, "used_bytes");
                json_out_null(&listing->out, "created_as");
                json_out_text(&listing->out, "error", err->text);
                json_out_close(&listing->out, '}');
                return;
        }
        table_cell(&listing->table, "%s", name);
        table_cell(&listing->table, "-");
        table_cell(&listing->table, "-");
        table_cell(&listing->table, "broken: %s", err->text);
}

static int visit(const char *name, void *context)
{
        struct listing *listing = context;
        struct store_session session;
        struct usage usage;
        struct error err = { 0 };
        int rc = store_join(listing->store, name, false, &session, &err);

        if (rc == -ENOENT || rc == -EBUSY) /* gone meanwhile */
                return 0;
        if (rc == 0) {
                rc = usage_read(&session, &usage, &err);
                if (rc == 0) {
                        add_good(listing, name, &session, &usage);
                        usage_free(&usage);
                }
                store_close(&session);
        }
        if (rc < 0)
                add_broken(listing, name, &err);
        return 0;
}

int command_ls(int argc, char **argv)
{
        struct view view = { 0 };
        struct store store;
        struct listing listing = { .store = &store, .out = { .stream = stdout } };
        struct error err = { 0 };
        int rc;

        options_parse(&(struct options){ argc, argv, STATUS_WRONG }, &argp_ls, 0, &view);
        listing.is_json = view.is_json;
        listing.table.titles = "SESSION,#PROCESSES,#USED,LIMITS";
        rc = options_find_store(&store, &err);
        if (rc == 0)
                sweep_all(&store);
        if (listing.is_json)
                json_out_open(&listing.out, NULL, '[');
        if (rc == 0)
                rc = store_list(&store, visit, &listing, &err);
        if (rc < 0 && rc != -ENOENT)
                return command_fail("ls", STATUS_NO, &err);
        if (listing.is_json) {
                json_out_close(&listing.out, ']');
                return json_out_end(&listing.out) < 0 ? STATUS_NO : STATUS_YES;
        }
        table_print(&listing.table);
        return STATUS_YES;
}
