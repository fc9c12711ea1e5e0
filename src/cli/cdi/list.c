/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cdi/list.h"

#include <stdio.h>

#include "cli/cdi/spec.h"
#include "common/json_out.h"

void list_print(const struct client_profile *profiles, size_t count, struct table *table)
{
        for (size_t i = 0; i < count; i++) {
                const struct client_profile *profile = &profiles[i];

                table_cell(table, "%s", profile->name);
                table_cell(table, profile->uuid[0] ? "%u" : "-", profile->gpu);
                table_bytes(table, profile->memory_bytes);
                table_cell(table, "%g%%", profile->cap_ppm * 100.0 / PAGE_WHOLE_PPM);
                table_cell(table, "%s", profile->priority);
                table_cell(table, "%s", profile->from);
                table_cell(table, "%u", profile->sessions);
        }
        table_print(table);
}

static void print_one(struct json_out *out, const struct client_profile *profile)
{
        json_out_open(out, NULL, '{');
        json_out_text(out, "name", profile->name);
        json_out_text(out, "device", SPEC_KIND);
        if (profile->uuid[0])
                json_out_u64(out, "gpu", profile->gpu);
        else
                json_out_null(out, "gpu");
        json_out_text(out, "uuid", profile->uuid[0] ? profile->uuid : NULL);
        json_out_u64(out, "memory_bytes", profile->memory_bytes);
        json_out_percent(out, "compute", profile->cap_ppm);
        json_out_text(out, "priority", profile->priority);
        json_out_text(out, "door", profile->door);
        json_out_text(out, "from", profile->from);
        json_out_u64(out, "sessions", profile->sessions);
        json_out_close(out, '}');
}

void list_print_json(const struct client_profile *profiles, size_t count)
{
        struct json_out out = { .stream = stdout };

        json_out_open(&out, NULL, '[');
        for (size_t i = 0; i < count; i++)
                print_one(&out, &profiles[i]);
        json_out_close(&out, ']');
        json_out_end(&out);
}
