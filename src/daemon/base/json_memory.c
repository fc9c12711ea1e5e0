/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/base/json_memory.h"

#include <stdlib.h>

static _Thread_local unsigned refused;

static void *allocate_json(size_t bytes)
{
        void *taken = malloc(bytes);

        refused += !taken;
        return taken;
}

void json_memory_watch(void)
{
        json_set_alloc_funcs(allocate_json, free);
}

void json_memory_begin(void)
{
        refused = 0;
}

bool json_memory_was_short(void)
{
        return refused;
}

char *json_memory_text(const json_t *json, size_t flags)
{
        const unsigned before = refused;
        char *text = json ? json_dumps(json, flags) : NULL;

        if (refused == before)
                return text;
        free(text);
        return NULL;
}
