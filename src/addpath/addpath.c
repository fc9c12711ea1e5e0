/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libaliquot-path.so: preloaded, it adds to PATH, LD_PRELOAD and LD_LIBRARY_PATH, and does no more.
 *
 * As the library is loaded, before main, TF_NAME is added behind the variable NAME and then
 * TF_PREPEND_NAME before it. PATH counts at once; the loader has read the other two already, so
 * they count for what this program starts. The TF_ variables stay set, and every program started
 * adds again; list.h says why nothing grows by that.
 *
 * Whatever goes wrong (no memory, a list too long to be passed on), that variable stays as it was
 * and the program never learns of it. Nothing happens in a setuid program: there the environment
 * is a stranger's, though /etc/ld.so.preload may well load us.
 */
#include "addpath/list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

/* The kernel refuses to exec with a longer "NAME=value" (MAX_ARG_STRLEN). */
enum { ENTRY_MAX_BYTES = 128 * 1024 };

static const struct variable {
        const char *target;
        const char *source;
        const char *separators; /* what the reader of that variable splits at */
        bool is_front;
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
        /* An unchanged variable is not set again: environ stays the kernel's own where it can. */
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
