/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/preload.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/text.h"

#define SEPARATORS ": \t\n"

static bool is_same_file(const char *a, const char *b)
{
        struct stat one, other;

        if (strcmp(a, b) == 0)
                return true;
        return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
               one.st_ino == other.st_ino;
}

char *preload_edit(const char *before, const char *library, struct error *err)
{
        size_t bytes = strlen(library) + strlen(before ? before : "") + 2;
        char entry[PATH_MAX];
        struct text text;
        char *edited;

        if (strpbrk(library, SEPARATORS "$")) {
                fail(err, -EINVAL,
                     "%s cannot be preloaded: the loader parts its list at spaces and colons; "
                     "install it elsewhere",
                     library);
                return NULL;
        }
        edited = malloc(bytes);
        if (!edited) {
                fail(err, -ENOMEM, "LD_PRELOAD: out of memory");
                return NULL;
        }
        text_begin(&text, edited, bytes);
        text_add(&text, "%s", library);
        while (before && *(before += strspn(before, SEPARATORS))) {
                int length = (int)strcspn(before, SEPARATORS);

                /* an entry that is longer than a path is not Aliquot's library, and stays */
                if (text_put(entry, sizeof(entry), NULL, "%.*s", length, before) < 0 ||
                    !is_same_file(entry, library))
                        text_add(&text, ":%.*s", length, before);
                before += length;
        }
        return edited;
}
