/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cdi/spec.h"

#include <stdio.h>
#include <string.h>

#include "common/injected.h"
#include "common/text.h"

#define SPEC_VERSION "0.5.0"

/* Writes options such as "ro,bind" as ["ro", "bind"]. */
static void write_options(struct json_out *out, const char *options)
{
        json_out_open(out, "options", '[');
        while (*options) {
                size_t length = strcspn(options, ",");
                char option[32];

                text_put(option, sizeof(option), NULL, "%.*s", (int)length, options);
                json_out_text(out, NULL, option);
                options += length + (options[length] == ',');
        }
        json_out_close(out, ']');
}

static void write_mount(struct json_out *out, const struct inject_mount *mount)
{
        json_out_open(out, NULL, '{');
        json_out_text(out, "hostPath", mount->from);
        json_out_text(out, "containerPath", mount->to);
        write_options(out, mount->options);
        json_out_close(out, '}');
}

static void write_mounts(struct json_out *out, const struct inject_mount *mounts, unsigned count)
{
        json_out_open(out, "containerEdits", '{');
        json_out_open(out, "mounts", '[');
        for (unsigned i = 0; i < count; i++)
                write_mount(out, &mounts[i]);
        json_out_close(out, ']');
        json_out_close(out, '}');
}

static void write_share(struct json_out *out, const struct spec_share *share)
{
        struct inject_mount door = { .to = INJECTED_SELF, .options = INJECT_DATA };

        text_put(door.from, sizeof(door.from), NULL, "%.*s",
                 (int)(strrchr(share->door, '/') - share->door), share->door);
        json_out_open(out, NULL, '{');
        json_out_text(out, "name", share->name);
        write_mounts(out, &door, 1);
        json_out_close(out, '}');
}

void spec_write(struct json_out *out, const struct injection *injection,
                const struct spec_share *shares, size_t count)
{
        json_out_open(out, NULL, '{');
        json_out_text(out, "cdiVersion", SPEC_VERSION);
        json_out_text(out, "kind", SPEC_KIND);
        json_out_open(out, "devices", '[');
        for (size_t i = 0; i < count; i++)
                write_share(out, &shares[i]);
        json_out_close(out, ']');
        write_mounts(out, injection->mount, injection->count);
        json_out_close(out, '}');
}
