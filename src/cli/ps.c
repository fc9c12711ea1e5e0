/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aliquot ps: lists the processes in sessions, and the memory of each GPU that each process holds.
 */
#include "cli/command.h"

#include <errno.h>
#include <stdio.h>

#include "cli/client.h"
#include "cli/names.h"
#include "cli/options.h"
#include "cli/remote.h"
#include "cli/sweep.h"
#include "cli/table.h"
#include "cli/views.h"

#define SHORT_UUID 12 /* length of GPU- and 8 digits */

const struct argp argp_ps = {
        .parser = view_list_parse,
        .args_doc = "[SESSION]",
        .doc = "List the processes that use a GPU, and what each holds.",
        .children = view_list_children,
};

struct process_listing {
        struct store store;
        bool is_json;
        struct json_out out;
        struct table table;
        const char *session; /* session of the rows that are being added */
};

/* Adds a row of a process. `share` NULL: the process holds no memory. */
static void add_row(struct process_listing *listing, const struct client_process *process,
                    const struct client_share *share)
{
        struct table *table = &listing->table;

        table_cell(table, "%s", listing->session);
        if (process->pid)
                table_cell(table, "%u", process->pid);
        else
                table_cell(table, "?"); /* it is in a PID namespace that this user cannot see */
        table_cell(table, "%s", process->command);
        table_cell(table, "%.*s", SHORT_UUID, share ? share->uuid : "-");
        table_bytes(table, share ? share->used_bytes : 0);
}

static void add_process(const struct client_process *process, void *context)
{
        struct process_listing *listing = context;
        unsigned rows = 0;

        if (listing->is_json) {
                views_process(&listing->out, listing->session, process);
                return;
        }
        for (unsigned i = 0; i < process->share_count; i++) {
                if (!process->share[i].used_bytes)
                        continue;
                add_row(listing, process, &process->share[i]);
                rows++;
        }
        if (!rows)
                add_row(listing, process, NULL);
}

static int add_session(struct process_listing *listing, const struct store_session *session,
                       struct error *err)
{
        struct usage usage;
        int rc = usage_read(session, &usage, err);

        if (rc < 0)
                return rc;
        for (unsigned i = 0; i < usage.count; i++) {
                const struct client_process seen = views_seen_process(session, &usage.process[i]);

                add_process(&seen, listing);
        }
        usage_free(&usage);
        return 0;
}

static int list_one(struct process_listing *listing, const char *name, struct error *err)
{
        struct store_session session;
        int rc = store_join(&listing->store, name, false, &session, err);

        listing->session = name;
        if (remote_can_tell(&listing->store, rc)) {
                int told = remote_told(
                        client_processes(&listing->store, name, add_process, listing, NULL));

                if (told == 0 || told == -ENOENT)
                        return told;
        }
        if (rc < 0)
                return rc;
        rc = add_session(listing, &session, err);
        store_close(&session);
        return rc;
}

static int list_named(struct process_listing *listing, const char *name, struct error *err)
{
        int rc = settings_check_name("session", name, err);

        if (rc == 0)
                rc = options_find_store_of(name, &listing->store, err);
        if (rc == 0)
                rc = list_one(listing, name, err);
        options_unknown(name, &listing->store, rc, err);
        return rc;
}

static int list_all(struct process_listing *listing, struct error *err)
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
                list_one(listing, names.at[i],
                         NULL); /* errors are ignored: `ls` reports sessions that cannot be read */
        names_free(&names);
        return 0;
}

int command_ps(int argc, char **argv)
{
        struct view view = { .most = 1 };
        struct process_listing listing = { .out = { .stream = stdout } };
        struct error err = { 0 };
        int rc;

        options_parse(&(struct cli_options){ argc, argv, STATUS_WRONG }, &argp_ps, 0, &view);
        listing.is_json = view.is_json;
        listing.table.titles = "SESSION,#PID,COMMAND,GPU,#MEMORY";
        if (view_choose(&view, &listing.table, &err) < 0)
                return command_fail("ps", STATUS_WRONG, &err);
        if (listing.is_json)
                json_out_open(&listing.out, NULL, '[');
        rc = view.count ? list_named(&listing, view.name[0], &err) : list_all(&listing, &err);
        if (rc < 0) {
                json_out_free(&listing.out);
                return command_fail("ps", STATUS_NO, &err);
        }
        if (listing.is_json) {
                json_out_close(&listing.out, ']');
                return json_out_end(&listing.out) < 0 ? STATUS_NO : STATUS_YES;
        }
        table_print(&listing.table);
        if (!view.count)
                options_tell_unlisted(&listing.store);
        return STATUS_YES;
}
