/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aliquot ps: the processes that live in sessions, and what each holds of each GPU.
 */
#include "cli/command.h"

#include <errno.h>
#include <stdio.h>

#include "cli/names.h"
#include "cli/options.h"
#include "cli/sweep.h"
#include "cli/table.h"
#include "cli/views.h"
#include "common/uuid.h"

#define SHORT_UUID 12 /* GPU- and 8 digits */

static error_t parse(int key, char *value, struct argp_state *state)
{
        if (key != ARGP_KEY_INIT)
                return ARGP_ERR_UNKNOWN;
        state->child_inputs[0] = state->input;
        return 0;
}

static const struct argp_child children[] = { { &view_list_argp, 0, NULL, 0 }, { 0 } };

const struct argp argp_ps = {
        .parser = parse,
        .args_doc = "[SESSION]",
        .doc = "List the processes that use a GPU, and what each holds.",
        .children = children,
};

struct listing {
        struct store store;
        bool is_json;
        struct json_out out;
        struct table table;
};

static void add_row(struct table *table, const struct store_session *session,
                    const struct usage_process *process, int row)
{
        uint32_t pid = usage_local_pid(process);
        char uuid[UUID_TEXT_BYTES];

        table_cell(table, "%s", session->limits->name);
        if (pid)
                table_cell(table, "%u", pid);
        else
                table_cell(table, "?"); /* in a PID namespace that we do not see */
        table_cell(table, "%s", process->command);
        if (row < 0) {
                table_cell(table, "-");
                table_bytes(table, 0);
                return;
        }
        table_cell(table, "%.*s", SHORT_UUID, views_uuid(session, (unsigned)row, uuid));
        table_bytes(table, process->bytes[row]);
}

static void add_process(struct listing *listing, const struct store_session *session,
                        const struct usage_process *process)
{
        unsigned rows = 0;

        if (listing->is_json) {
                views_process(&listing->out, session, process);
                return;
        }
        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                if (!usage_has_row(session, i) || !process->bytes[i])
                        continue;
                add_row(&listing->table, session, process, (int)i);
                rows++;
        }
        if (!rows)
                add_row(&listing->table, session, process, -1);
}

static int add_session(struct listing *listing, const struct store_session *session,
                       struct error *err)
{
        struct usage usage;
        int rc = usage_read(session, &usage, err);

        if (rc < 0)
                return rc;
        for (unsigned i = 0; i < usage.count; i++)
                add_process(listing, session, &usage.process[i]);
        usage_free(&usage);
        return 0;
}

/* What cannot be read is the business of `ls`. */
static void visit(struct listing *listing, const char *name)
{
        struct store_session session;

        if (store_join(&listing->store, name, false, &session, NULL) == 0) {
                add_session(listing, &session, NULL);
                store_close(&session);
        }
}

static int list_one(struct listing *listing, const char *name, struct error *err)
{
        struct store_session session;
        int rc = options_open_session(name, false, &session, err);

        if (rc < 0)
                return rc;
        rc = add_session(listing, &session, err);
        store_close(&session);
        return rc;
}

static int list_all(struct listing *listing, struct error *err)
{
        struct names names;
        int rc = options_find_store(&listing->store, err);

        if (rc == -ENOENT)
                return 0;
        if (rc < 0)
                return rc;
        sweep_all(&listing->store);
        rc = names_read(&listing->store, &names, err);
        if (rc < 0)
                return rc;
        for (size_t i = 0; i < names.count; i++)
                visit(listing, names.at[i]);
        names_free(&names);
        return 0;
}

int command_ps(int argc, char **argv)
{
        struct view view = { .most = 1 };
        struct listing listing = { .out = { .stream = stdout } };
        struct error err = { 0 };
        int rc;

        options_parse(&(struct options){ argc, argv, STATUS_WRONG }, &argp_ps, 0, &view);
        listing.is_json = view.is_json;
        listing.table.titles = "SESSION,#PID,COMMAND,GPU,#MEMORY";
        if (view_choose(&view, &listing.table, &err) < 0)
                return command_fail("ps", STATUS_WRONG, &err);
        if (listing.is_json)
                json_out_open(&listing.out, NULL, '[');
        rc = view.count ? list_one(&listing, view.name[0], &err) : list_all(&listing, &err);
        if (rc < 0)
                return command_fail("ps", STATUS_NO, &err);
        if (listing.is_json) {
                json_out_close(&listing.out, ']');
                return json_out_end(&listing.out) < 0 ? STATUS_NO : STATUS_YES;
        }
        table_print(&listing.table);
        return STATUS_YES;
}
