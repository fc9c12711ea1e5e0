/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aliquot show: one session, its limits and what is used of them.
 */
#include "cli/command.h"

#include <stdio.h>

#include "cli/options.h"
#include "cli/table.h"
#include "cli/views.h"
#include "common/atomic.h"
#include "common/uuid.h"

static error_t parse(int key, char *value, struct argp_state *state)
{
        struct view *view = state->input;

        switch (key) {
        case ARGP_KEY_INIT:
                state->child_inputs[0] = view;
                return 0;
        case ARGP_KEY_END:
                if (!view->count)
                        argp_error(state, "which session? aliquot ls lists them");
                return 0;
        default:
                return ARGP_ERR_UNKNOWN;
        }
}

static const struct argp_child children[] = { { &view_argp, 0, NULL, 0 }, { 0 } };

static const struct argp argp = {
        .parser = parse,
        .args_doc = "SESSION",
        .doc = "Show a session: its limits, and what is used of them.",
        .children = children,
};

static void print_people(const struct store_session *session, const struct usage *usage)
{
        const struct limits_page *page = session->limits;
        struct table table = { .titles = "GPU,#LIMIT,#USED,#CARD" };
        char uuid[UUID_TEXT_BYTES];

        printf("session    %s\n", page->name);
        printf("made as    %s\n", page->created_as);
        printf("folder     %s\n", session->path);
        printf("processes  %u\n", usage->count);
        if (page->device_name[0])
                printf("card name  %s\n", page->device_name);
        if (page->flags & PAGE_CONTEXT_FREE)
                printf("contexts   not charged\n");
        putchar('\n');
        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                const struct limits_device *device = &page->device[i];

                if (!usage_has_row(session, i))
                        continue;
                table_cell(&table, "%s", views_uuid(session, i, uuid));
                table_bytes(&table, load_acquire(shared_word(&device->limit_bytes)));
                table_bytes(&table, usage->used_bytes[i]);
                table_bytes(&table, device->card_bytes);
        }
        table_print(&table);
}

static void print_device(struct json_out *out, const struct store_session *session,
                         const struct usage *usage, unsigned row)
{
        const struct limits_device *device = &session->limits->device[row];
        char uuid[UUID_TEXT_BYTES];

        json_out_open(out, NULL, '{');
        json_out_text(out, "uuid", views_uuid(session, row, uuid));
        views_limit(out, "limit_bytes", load_acquire(shared_word(&device->limit_bytes)));
        json_out_u64(out, "used_bytes", usage->used_bytes[row]);
        json_out_u64(out, "card_bytes", device->card_bytes);
        json_out_close(out, '}');
}

static int print_json(const struct store_session *session, const struct usage *usage)
{
        const struct limits_page *page = session->limits;
        struct json_out out = { .stream = stdout };

        json_out_open(&out, NULL, '{');
        json_out_text(&out, "name", page->name);
        json_out_text(&out, "created_as", page->created_as);
        json_out_text(&out, "folder", session->path);
        json_out_text(&out, "owner", page->owner == PAGE_OWNER_DAEMON ? "daemon" : "user");
        json_out_text(&out, "device_name", page->device_name[0] ? page->device_name : NULL);
        json_out_bool(&out, "is_context_free", page->flags & PAGE_CONTEXT_FREE);
        views_limit(&out, "default_limit_bytes",
                    load_acquire(shared_word(&page->default_limit_bytes)));
        json_out_u64(&out, "epoch", load_acquire(shared_half(&page->epoch)));
        json_out_open(&out, "devices", '[');
        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                if (usage_has_row(session, i))
                        print_device(&out, session, usage, i);
        }
        json_out_close(&out, ']');
        json_out_open(&out, "processes", '[');
        for (unsigned i = 0; i < usage->count; i++)
                views_process(&out, session, &usage->process[i]);
        json_out_close(&out, ']');
        json_out_close(&out, '}');
        return json_out_end(&out);
}

int command_show(int argc, char **argv)
{
        struct view view = { .most = 1 };
        struct store_session session;
        struct usage usage;
        struct error err = { 0 };
        int rc = 0;

        options_parse(&(struct options){ argc, argv, STATUS_WRONG }, &argp, 0, &view);
        if (options_open_session(view.name[0], false, &session, &err) < 0 ||
            usage_read(&session, &usage, &err) < 0)
                return command_fail("show", STATUS_NO, &err);
        if (view.is_json)
                rc = print_json(&session, &usage);
        else
                print_people(&session, &usage);
        usage_free(&usage);
        store_close(&session);
        return rc < 0 ? STATUS_NO : STATUS_YES;
}
