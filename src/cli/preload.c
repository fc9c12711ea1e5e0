/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/preload.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/scoped.h"

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
        scoped_free char *rest = strdup(before ? before : "");
        scoped_free char *text = NULL;
        size_t bytes = strlen(library) + strlen(before ? before : "") + 2;
        char *entry, *position = NULL;

        if (strpbrk(library, SEPARATORS "$")) {
                fail(err, -EINVAL,
                     "%s cannot be preloaded: the loader parts its list at spaces and colons; "
                     "install it elsewhere",
                     library);
                return NULL;
        }
        text = malloc(bytes);
        if (!rest || !text) {
                fail(err, -ENOMEM, "LD_PRELOAD: out of memory");
                return NULL;
        }
        strcpy(text, library);
        for (entry = strtok_r(rest, SEPARATORS, &position); entry;
             entry = strtok_r(NULL, SEPARATORS, &position)) {
                if (is_same_file(entry, library))
                        continue;
                strcat(text, ":");
                strcat(text, entry);
        }
        return steal_ptr(&text);
}
