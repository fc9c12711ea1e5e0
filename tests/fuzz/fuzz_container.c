/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as /proc/PID/cgroup: refused with a line, or a container whose id is in each of its
 * paths, which lie within the text, and which nothing that is added below them changes.
 */
#include "daemon/base/container.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BELOW "/libpod-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int is_true)
{
        if (!is_true)
                abort();
}

static void check_lines(const struct container *found, const char *text, size_t size)
{
        must(found->count > 0 && found->count <= CONTAINER_LINES);
        must(found->id[0] && strlen(found->id) < CONTAINER_ID_BYTES);
        for (unsigned i = 0; i < found->count; i++) {
                const struct container_line *line = &found->line[i];

                must(line->path >= text && line->path + line->path_bytes <= text + size);
                must(line->controllers >= text && line->controllers < line->path);
                must(line->path_bytes && line->path[0] == '/');
                must(memmem(line->path, line->path_bytes, found->id, strlen(found->id)) != NULL);
                must(!memmem(line->path, line->path_bytes, "/../", 4));
        }
}

/* What a tenant makes below its first line's path. */
static void add_below(const struct container *found, const char *text, size_t size)
{
        static char longer[8192];
        const char *end =
                memchr(found->line[0].path, '\n', size - (size_t)(found->line[0].path - text));
        const size_t before = end ? (size_t)(end - text) : size;
        struct container again;

        if (size + sizeof(BELOW) > sizeof(longer) || !before || text[before - 1] == '/')
                return;
        memcpy(longer, text, before);
        memcpy(longer + before, BELOW, sizeof(BELOW) - 1);
        memcpy(longer + before + sizeof(BELOW) - 1, text + before, size - before);
        must(container_read(longer, size + sizeof(BELOW) - 1, &again, NULL) == 0);
        must(strcmp(again.id, found->id) == 0 && again.count == found->count);
        must(again.line[0].path_bytes == found->line[0].path_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const char *text = (const char *)data;
        struct container found;
        struct error err = { 0 };

        container_may_exit(text, size);
        if (container_read(text, size, &found, &err) < 0) {
                must(err.code < 0 && err.text[0] && !strchr(err.text, '\n'));
                return 0;
        }
        check_lines(&found, text, size);
        add_below(&found, text, size);
        return 0;
}
