/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aliquot ls: lists the sessions of the runtime folder.
 */
#include "cli/command.h"

#include <errno.h>
#include <stdio.h>

#include "cli/client.h"
#include "cli/names.h"
#include "cli/options.h"
#include "cli/ranks.h"
#include "cli/remote.h"
#include "cli/sweep.h"
#include "cli/table.h"
#include "cli/views.h"
#include "common/text.h"
#include "common/units.h"
#include "common/uuid.h"

const struct argp argp_ls = {
        .parser = view_list_parse,
        .doc = "List the sessions.",
        .children = view_list_children,
};

struct listing {
        const struct store *store;
        bool is_json;
        struct json_out out;
        struct table table;
        bool has_ranks; /* the daemon's terms are known */
        bool is_partly; /* the list of a session's processes was incomplete */
        struct ranks ranks;
};

static uint32_t cap_ppm_of(const struct store_session *session, unsigned row)
{
        return page_cap_ppm(session->limits, &session->limits->device[row]);
}

/* Returns the smallest cap on any card of the session; PAGE_WHOLE_PPM: there is no cap. */
static uint32_t min_cap_of(const struct store_session *session)
{
        uint32_t min_ppm = PAGE_WHOLE_PPM;

        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                if (usage_has_row(session, i) && cap_ppm_of(session, i) < min_ppm)
                        min_ppm = cap_ppm_of(session, i);
        }
        return min_ppm;
}

/* Adds a cell with the limits: one size if all cards have the same, else one for each card. */
static void limits_cell(struct table *table, const struct store_session *session,
                        const struct rank *rank)
{
        char text[PAGE_DEVICES * (UUID_SHOWN + SIZE_TEXT_BYTES + 2)] = "";
        char uuid[UUID_TEXT_BYTES], size[SIZE_TEXT_BYTES], more[RANK_TEXT_BYTES];
        uint64_t first = 0;
        unsigned count = 0, same = 0;
        size_t length = 0;

        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                uint64_t limit = views_limit_bytes(session, i);

                if (!usage_has_row(session, i))
                        continue;
                first = count == 0 ? limit : first;
                same += limit == first;
                length += (size_t)snprintf(
                        text + length, sizeof(text) - length, "%s%.*s=%s", count++ ? ", " : "",
                        UUID_SHOWN, views_uuid(session, i, uuid),
                        limit == PAGE_UNLIMITED ? "-" : size_format(limit, size));
        }
        if (count == 0)
                first = views_default_bytes(session);
        rank_text(rank, min_cap_of(session), more);
        if (same != count)
                table_cell(table, "%s%s", text, more);
        else if (more[0])
                table_cell(table, "%s%s", first == PAGE_UNLIMITED ? "-" : size_format(first, size),
                           more);
        else
                table_bytes(table, first);
}

static void limits_json(struct json_out *out, const struct store_session *session,
                        const struct rank *rank)
{
        json_out_open(out, "devices", '[');
        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                struct client_share share;

                if (!usage_has_row(session, i))
                        continue;
                share = views_row(session, i);
                share.guarantee_ppm = rank ? rank->guarantee_ppm : 0;
                json_out_open(out, NULL, '{');
                views_share(out, &share);
                json_out_close(out, '}');
        }
        json_out_close(out, ']');
}

/* Prints the daemon's findings about a session; null if no daemon reports them. */
static void put_seen(struct json_out *out, const struct rank *rank, bool is_told)
{
        if (is_told) {
                json_out_bool(out, "clamped", rank && rank->is_clamped);
                json_out_bool(out, "reported", rank && rank->is_reported);
        } else {
                json_out_null(out, "clamped");
                json_out_null(out, "reported");
        }
}

static void add_good(struct listing *listing, const char *name, const struct store_session *session,
                     const struct usage *usage)
{
        const struct rank *rank = ranks_find(&listing->ranks, name);

        if (session->limits->owner != PAGE_OWNER_DAEMON)
                rank = NULL;
        else if (!listing->has_ranks)
                listing->is_partly = true;
        if (listing->is_json) {
                json_out_open(&listing->out, NULL, '{');
                json_out_text(&listing->out, "name", name);
                json_out_u64(&listing->out, "processes", usage->count);
                json_out_u64(&listing->out, "used_bytes", usage->total_bytes);
                json_out_text(&listing->out, "created_as", session->limits->created_as);
                limits_json(&listing->out, session, rank);
                rank_json(&listing->out, rank);
                /* sessions without a daemon have no findings, so for them the values are known */
                put_seen(&listing->out, rank,
                         listing->has_ranks || session->limits->owner != PAGE_OWNER_DAEMON);
                json_out_null(&listing->out, "error");
                json_out_close(&listing->out, '}');
                return;
        }
        table_cell(&listing->table, "%s", name);
        table_cell(&listing->table, "%u", usage->count);
        table_bytes(&listing->table, usage->total_bytes);
        limits_cell(&listing->table, session, rank);
}

/* Returns whether only the daemon can report about the session: even root cannot read another
 * user's `slots`. */
static bool is_foreign(const struct listing *listing, const char *name)
{
        struct store_session session;
        bool is_daemons;

        if (store_join_limits(listing->store, name, &session, NULL) < 0)
                return false;
        is_daemons = session.limits->owner == PAGE_OWNER_DAEMON;
        store_close(&session);
        return is_daemons;
}

static void add_unread(struct listing *listing, const char *name, bool is_broken,
                       const struct error *err)
{
        if (listing->is_json) {
                json_out_open(&listing->out, NULL, '{');
                json_out_text(&listing->out, "name", name);
                json_out_null(&listing->out, "processes");
                json_out_null(&listing->out, "used_bytes");
                json_out_null(&listing->out, "created_as");
                json_out_open(&listing->out, "devices", '[');
                json_out_close(&listing->out, ']');
                rank_json(&listing->out, NULL);
                put_seen(&listing->out, NULL, false);
                json_out_text(&listing->out, "error", err->text);
                json_out_close(&listing->out, '}');
                return;
        }
        table_cell(&listing->table, "%s", name);
        table_cell(&listing->table, "-");
        table_cell(&listing->table, "-");
        table_cell(&listing->table, "%s%s", is_broken ? "broken: " : "", err->text);
}

static void foreign_json(struct json_out *out, const struct client_session *told,
                         const struct rank *rank, uint64_t used_bytes)
{
        json_out_open(out, NULL, '{');
        json_out_text(out, "name", told->name);
        json_out_u64(out, "processes", told->processes);
        json_out_u64(out, "used_bytes", used_bytes);
        json_out_null(out, "created_as");
        json_out_open(out, "devices", '[');
        for (unsigned i = 0; i < told->share_count; i++) {
                json_out_open(out, NULL, '{');
                views_share(out, &told->share[i]);
                json_out_close(out, '}');
        }
        json_out_close(out, ']');
        rank_json(out, rank);
        put_seen(out, rank, true);
        json_out_null(out, "error");
        json_out_close(out, '}');
}

static void foreign_cell(struct table *table, const struct client_session *told,
                         const struct rank *rank)
{
        char line[(size_t)PAGE_DEVICES * (UUID_SHOWN + SIZE_TEXT_BYTES + 2)];
        char size[SIZE_TEXT_BYTES], more[RANK_TEXT_BYTES];
        uint32_t min_ppm = PAGE_WHOLE_PPM;
        bool is_same = true;
        struct text text;

        text_begin(&text, line, sizeof(line));
        for (unsigned i = 0; i < told->share_count; i++) {
                const struct client_share *share = &told->share[i];

                is_same &= share->memory_bytes == told->share[0].memory_bytes;
                min_ppm = share->cap_ppm < min_ppm ? share->cap_ppm : min_ppm;
                text_add(&text, "%s%.*s=%s", i ? ", " : "", UUID_SHOWN, share->uuid,
                         size_format(share->memory_bytes, size));
        }
        rank_text(rank, min_ppm, more);
        if (!is_same)
                table_cell(table, "%s%s", line, more);
        else if (more[0])
                table_cell(table, "%s%s", size_format(told->share[0].memory_bytes, size), more);
        else
                table_bytes(table, told->share[0].memory_bytes);
}

/* Adds a session from the daemon's response, if its pages belong to another user or are closed
 * because it is ending. */
static void add_foreign(struct listing *listing, const struct client_session *told)
{
        const struct rank rank = rank_of(told);
        struct table *table = &listing->table;
        uint64_t used_bytes = 0;

        for (unsigned i = 0; i < told->share_count; i++)
                used_bytes += told->share[i].used_bytes;
        if (listing->is_json) {
                foreign_json(&listing->out, told, &rank, used_bytes);
                return;
        }
        table_cell(table, "%s", told->name);
        table_cell(table, "%u", told->processes);
        table_bytes(table, used_bytes);
        foreign_cell(table, told, &rank);
}

static void list_one(struct listing *listing, const char *name)
{
        static struct client_session told;
        struct store_session session;
        struct usage usage;
        struct error err = { 0 };
        int rc = store_join(listing->store, name, false, &session, &err);
        bool is_broken;

        /* only if the daemon has answered before, so that a silent daemon is not waited for in each
         * session */
        if (listing->has_ranks && remote_can_tell(listing->store, rc) &&
            client_show(listing->store, name, &told, NULL) == 0) {
                add_foreign(listing, &told);
                return;
        }
        if (rc == -ENOENT && ranks_find(&listing->ranks, name) &&
            client_show(listing->store, name, &told, NULL) == 0)
                rc = fail(&err, -ESTALE,
                          "its folder was deleted under its daemon; aliquot set %s makes it anew, "
                          "as does a restart of aliquotd",
                          name);
        if (rc == -ENOENT || rc == -EBUSY) /* removed meanwhile */
                return;
        if (rc == 0) {
                rc = usage_read(&session, &usage, &err);
                if (rc == 0) {
                        add_good(listing, name, &session, &usage);
                        usage_free(&usage);
                }
                store_close(&session);
        }
        if (rc == 0)
                return;
        is_broken = rc != -EPERM || !is_foreign(listing, name);
        if (!is_broken)
                fail(&err, rc, "another user's: its daemon can tell, and does not answer");
        add_unread(listing, name, is_broken, &err);
}

/* Adds the sessions that the daemon knows but that have no folder: their memory is still
 * promised. */
static int add_told(const struct ranks *ranks, struct names *names)
{
        const size_t found = names->count;
        int rc = 0;

        for (size_t i = 0; rc == 0 && i < ranks->count; i++) {
                if (!names_has(names, found, ranks->at[i].name))
                        rc = names_add(names, ranks->at[i].name);
        }
        names_sort(names);
        return rc;
}

static int list_all(struct listing *listing, struct error *err)
{
        struct names names;
        int rc = names_read(listing->store, &names, err);

        if (rc < 0)
                return rc;
        listing->has_ranks = ranks_list(listing->store, &listing->ranks);
        rc = add_told(&listing->ranks, &names);
        for (size_t i = 0; rc == 0 && i < names.count; i++)
                list_one(listing, names.at[i]);
        ranks_free(&listing->ranks);
        names_free(&names);
        return rc < 0 ? fail(err, rc, "out of memory") : 0;
}

int command_ls(int argc, char **argv)
{
        struct view view = { 0 };
        struct store store = { 0 };
        struct listing listing = { .store = &store, .out = { .stream = stdout } };
        struct error err = { 0 };
        int rc;

        options_parse(&(struct cli_options){ argc, argv, STATUS_WRONG }, &argp_ls, 0, &view);
        listing.is_json = view.is_json;
        listing.table.titles = "SESSION,#PROCESSES,#USED,LIMITS";
        if (view_choose(&view, &listing.table, &err) < 0)
                return command_fail("ls", STATUS_WRONG, &err);
        rc = options_find_store(&store, &err);
        if (rc == 0)
                sweep_all(&store);
        if (listing.is_json)
                json_out_open(&listing.out, NULL, '[');
        if (rc == 0)
                rc = list_all(&listing, &err);
        if (rc < 0 && rc != -ENOENT) {
                json_out_free(&listing.out);
                return command_fail("ls", STATUS_NO, &err);
        }
        if (listing.is_json) {
                json_out_close(&listing.out, ']');
                return json_out_end(&listing.out) < 0 ? STATUS_NO : STATUS_YES;
        }
        table_print(&listing.table);
        if (listing.is_partly)
                remote_tell_silence(&store);
        options_tell_unlisted(&store);
        return STATUS_YES;
}
