/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/lines.h"

#include <stdbool.h>

/* Returns the line that is being received. It is begun with its first character. */
static char *growing(struct lines *lines)
{
        if (lines->used == 0)
                lines->count++;
        return lines->text[(lines->count - 1) % LINES_MAX];
}

void lines_add(struct lines *lines, const char *bytes, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                bool is_plain = bytes[i] >= ' ' && bytes[i] <= '~';
                char *line;

                if (bytes[i] == '\n') {
                        lines->used = 0;
                        continue;
                }
                line = growing(lines);
                if (lines->used + 1 == LINES_BYTES)
                        continue;
                line[lines->used++] = (char)(is_plain ? bytes[i] : '?');
                line[lines->used] = '\0';
        }
}

unsigned lines_kept(const struct lines *lines)
{
        return lines->count < LINES_MAX ? lines->count : LINES_MAX;
}

const char *lines_at(const struct lines *lines, unsigned at)
{
        return lines->text[(lines->count - lines_kept(lines) + at) % LINES_MAX];
}
