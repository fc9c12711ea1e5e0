/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any two texts as a list and what is added to it: the result fits where list_edit_size() said,
 * and adding a second time changes nothing.
 */
#include "addpath/list.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *edited(struct list_edit edit)
{
        char *text = malloc(list_edit_size(&edit));

        list_edit(&edit, text);
        return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct list_edit edit;
        char *copy, *once, *twice;

        if (size < 2)
                return 0;
        copy = malloc(size);
        memcpy(copy, data + 1, size - 1);
        copy[size - 1] = '\0';

        /* The input's first zero parts the two texts. */
        edit.target = data[0] & 1 ? NULL : copy;
        edit.value = memchr(copy, 0, size - 1) ? copy + strlen(copy) + 1 : copy;
        edit.separators = data[0] & 2 ? ": " : ":";
        edit.is_front = data[0] & 4;

        once = edited(edit);
        edit.target = once;
        twice = edited(edit);
        if (strcmp(once, twice) != 0)
                abort();
        free(twice);
        free(once);
        free(copy);
        return 0;
}
