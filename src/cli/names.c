/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "cli/presence.h"
#include "common/text.h"

static int add(const char *name, void *context)
{
        struct names *names = context;

        if (names->count == names->room) {
                size_t room = names->room ? 2 * names->room : 64;
                void *grown = reallocarray(names->at, room, sizeof(*names->at));

                if (!grown)
                        return -ENOMEM;
                names->at = grown;
                names->room = room;
        }
        return text_put(names->at[names->count++], PAGE_NAME_BYTES, NULL, "%s", name);
}

static void add_told(const struct client_session *session, void *context)
{
        add(session->name, context);
}

static int by_name(const void *a, const void *b)
{
        return strcmp(a, b);
}

static void keep_one_each(struct names *names)
{
        size_t kept = 0;

        if (names->count)
                qsort(names->at, names->count, sizeof(*names->at), by_name);
        for (size_t i = 0; i < names->count; i++) {
                if (kept && strcmp(names->at[kept - 1], names->at[i]) == 0)
                        continue;
                memmove(names->at[kept++], names->at[i], sizeof(*names->at));
        }
        names->count = kept;
}

int names_read(const struct store *store, struct names *ret, struct error *err)
{
        struct names names = { 0 };
        int rc = store_list(store, add, &names, err);

        /* What lies in the folder can be shown while the daemon does not answer. */
        if ((rc == 0 || rc == -EACCES) && presence_look(store) == PRESENCE_LISTENS) {
                int told = client_list(store, add_told, &names, rc < 0 ? err : NULL);

                rc = rc < 0 ? told : rc;
        }
        if (rc < 0) {
                names_free(&names);
                return rc;
        }
        keep_one_each(&names);
        *ret = names;
        return 0;
}

void names_free(struct names *names)
{
        free(names->at);
        *names = (struct names){ 0 };
}
