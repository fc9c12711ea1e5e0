/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of all sessions that this user may know of, sorted: those in the folder, or those that
 * the daemon tells where the folder is not this user's to list (CLIENT_AWAY: it does not).
 */
#ifndef ALIQUOT_CLI_NAMES_H
#define ALIQUOT_CLI_NAMES_H

#include <stdbool.h>

#include "store/store.h"

struct names {
        char (*at)[PAGE_NAME_BYTES]; /* names_free() */
        size_t count, room;
};

int names_read(const struct store *store, struct names *ret, struct error *err);

/* Whether the folder tells them: a daemon of another user lets one go through it and not list it.
 */
bool names_can_be_listed(const struct store *store);

/* One more, behind the others; -ENOMEM. names_sort() puts it in its place. */
int names_add(struct names *names, const char *name);
void names_sort(struct names *names);

/* Whether a name is among the first `count`, which are sorted. */
bool names_has(const struct names *names, size_t count, const char *name);

void names_free(struct names *names);

#endif
