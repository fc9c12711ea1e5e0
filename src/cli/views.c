/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/views.h"

#include <string.h>

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
