/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libaliquot-path.so: when preloaded, it adds entries to PATH, LD_PRELOAD and LD_LIBRARY_PATH, and
 * does nothing else.
 *
 * Its constructor, which runs before main, adds the entries of TF_NAME at the end of the variable
 * NAME, and then those of TF_PREPEND_NAME at its front. PATH has an effect at once. The loader has
 * read the other two already, so they affect only the programs that this program starts. The TF_
 * variables stay set, so each of those programs adds the entries again; list.h says why the lists
 * do not grow.
 *
 * If anything fails (no memory, a list too long for exec), the variable stays as it was, and the
 * program is not told. In a setuid program the library does nothing: /etc/ld.so.preload can load it
 * there, but the environment is that of another user.
 */
#include "addpath/list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

/* The kernel refuses exec with a longer "NAME=value" (MAX_ARG_STRLEN). */
enum { ENTRY_MAX_BYTES = 128 * 1024 };

/* What to add to which variable. */
static const struct variable {
        const char *target;     /* the variable that is changed */
        const char *source;     /* the variable that has the entries to add */
        const char *separators; /* characters at which the readers of `target` split it */
        bool is_front;          /* add at the front, not at the end */
} variables[] = {
        { "PATH", "TF_PATH", ":", false },
        { "LD_PRELOAD", "TF_LD_PRELOAD", ": ", false },
        { "LD_LIBRARY_PATH", "TF_LD_LIBRARY_PATH", ":;", false },
        { "PATH", "TF_PREPEND_PATH", ":", true },
        { "LD_PRELOAD", "TF_PREPEND_LD_PRELOAD", ": ", true },
        { "LD_LIBRARY_PATH", "TF_PREPEND_LD_LIBRARY_PATH", ":;", true },
};

static void variable_edit(const struct variable *variable)
{
        struct list_edit edit = {
                .target = getenv(variable->target),
                .value = getenv(variable->source),
                .separators = variable->separators,
                .is_front = variable->is_front,
        };
        char *text;

        if (!edit.value || !*edit.value)
                return;
        text = malloc(list_edit_size(&edit));
        if (!text)
                return;
        list_edit(&edit, text);
        /* If the list is unchanged, setenv() is not called, so that `environ` stays the kernel's
         * array if possible. */
        if (*text && strlen(variable->target) + strlen(text) + 2 <= ENTRY_MAX_BYTES &&
            (!edit.target || strcmp(edit.target, text) != 0))
                setenv(variable->target, text, 1);
        free(text);
}

__attribute__((constructor)) static void environment_edit(void)
{
        int saved = errno;

        if (!getauxval(AT_SECURE)) {
                for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
                        variable_edit(&variables[i]);
        }
        errno = saved;
}
