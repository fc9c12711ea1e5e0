/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/views.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/atomic.h"
#include "common/uuid.h"

void views_limit(struct json_out *out, const char *key, uint64_t bytes)
{
        if (bytes == PAGE_UNLIMITED)
                json_out_null(out, key);
        else
                json_out_u64(out, key, bytes);
}

const char *views_uuid(const struct store_session *session, unsigned row, char ret[])
{
        uint8_t uuid[16];

        memcpy(uuid, session->limits->device[row].uuid, sizeof(uuid));
        return uuid_format(uuid, false, ret);
}

void views_process(struct json_out *out, const struct store_session *session,
                   const struct usage_process *process)
{
        char uuid[UUID_TEXT_BYTES];
        uint32_t pid = usage_local_pid(process);

        json_out_open(out, NULL, '{');
        json_out_text(out, "session", session->limits->name);
        if (pid)
                json_out_u64(out, "pid", pid);
        else
                json_out_null(out, "pid");
        json_out_u64(out, "uid", process->uid);
        json_out_text(out, "command", process->command);
        json_out_open(out, "devices", '[');
        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                if (!usage_has_row(session, i))
                        continue;
                json_out_open(out, NULL, '{');
                json_out_text(out, "uuid", views_uuid(session, i, uuid));
                json_out_u64(out, "bytes", process->bytes[i]);
                json_out_close(out, '}');
        }
        json_out_close(out, ']');
        json_out_close(out, '}');
}

static void print_rows(const struct store_session *session, const struct usage *usage,
                       struct table *table)
{
        char uuid[UUID_TEXT_BYTES];

        for (unsigned i = 0; i < PAGE_DEVICES; i++) {
                const struct limits_device *device = &session->limits->device[i];

                if (!usage_has_row(session, i))
                        continue;
                table_cell(table, "%s", views_uuid(session, i, uuid));
                table_bytes(table, load_acquire(shared_word(&device->limit_bytes)));
                table_bytes(table, usage->used_bytes[i]);
                table_bytes(table, device->card_bytes);
        }
        table_print(table);
}

static void print_people(const struct store_session *session, const struct usage *usage)
{
        const struct limits_page *page = session->limits;
        struct table table = { .titles = VIEWS_TITLES };

        printf("session    %s\n", page->name);
        printf("made as    %s\n", page->created_as);
        printf("folder     %s\n", session->path);
        printf("processes  %u\n", usage->count);
        if (page->device_name[0])
                printf("card name  %s\n", page->device_name);
        if (page->flags & PAGE_CONTEXT_FREE)
                printf("contexts   not charged\n");
        putchar('\n');
        print_rows(session, usage, &table);
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

int views_session(const struct store_session *session, bool is_json, struct error *err)
{
        struct usage usage;
        int rc = usage_read(session, &usage, err);

        if (rc < 0)
                return rc;
        if (!is_json)
                print_people(session, &usage);
        else if (print_json(session, &usage) < 0)
                rc = fail(err, -EIO, "standard output: %m");
        usage_free(&usage);
        return rc;
}

int views_rows(const struct store_session *session, struct table *table, struct error *err)
{
        struct usage usage;
        int rc = usage_read(session, &usage, err);

        if (rc < 0)
                return rc;
        print_rows(session, &usage, table);
        usage_free(&usage);
        return 0;
}
