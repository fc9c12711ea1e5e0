/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/client.h"
#include "common/text.h"

int names_add(struct names *names, const char *name)
{
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

static int add_name(const char *name, void *context)
{
        return names_add(context, name);
}

static int add_told(const struct client_session *session, void *context)
{
        return names_add(context, session->name);
}

static int by_name(const void *a, const void *b)
{
        return strcmp(a, b);
}

void names_sort(struct names *names)
{
        if (names->count)
                qsort(names->at, names->count, sizeof(*names->at), by_name);
}

bool names_has(const struct names *names, size_t count, const char *name)
{
        return count && bsearch(name, names->at, count, sizeof(*names->at), by_name);
}

bool names_can_be_listed(const struct store *store)
{
        char path[STORE_PATH_BYTES + 16];

        return text_put(path, sizeof(path), NULL, "%s/sessions", store->path) == 0 &&
               (faccessat(AT_FDCWD, path, R_OK | X_OK, AT_EACCESS) == 0 || errno != EACCES);
}

static int ask_daemon(const struct store *store, struct names *names, struct error *err)
{
        const struct client_listener listener = { .each = add_told, .context = names };
        int rc = client_find(store, err);

        if (rc == 0)
                return fail(err, CLIENT_AWAY,
                            "only a daemon can list the sessions of %s, and none serves it; show "
                            "and run --session work with a name",
                            store->path);
        return rc < 0 ? rc : client_list(store, &listener, err);
}

int names_read(const struct store *store, struct names *ret, struct error *err)
{
        struct names names = { 0 };
        int rc = names_can_be_listed(store) ? store_list(store, add_name, &names, err)
                                            : ask_daemon(store, &names, err);

        if (rc < 0) {
                names_free(&names);
                return rc == -ENOMEM ? fail(err, rc, "out of memory") : rc;
        }
        names_sort(&names);
        *ret = names;
        return 0;
}

void names_free(struct names *names)
{
        free(names->at);
        *names = (struct names){ 0 };
}
