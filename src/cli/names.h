/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the names of all sessions that this user may see, sorted: those in the runtime folder or,
 * if the user may not list the folder, those that the daemon reports (CLIENT_AWAY: it does not
 * answer).
 */
#ifndef ALIQUOT_CLI_NAMES_H
#define ALIQUOT_CLI_NAMES_H

#include <stdbool.h>

#include "store/store.h"

struct names {
        char (*at)[PAGE_NAME_BYTES]; /* freed by names_free() */
        size_t count, room;
};

int names_read(const struct store *store, struct names *ret, struct error *err);

/* Returns whether this user may list the folder. A user can enter the folder of another user's
 * daemon, but not list it. */
bool names_can_be_listed(const struct store *store);

/* Appends a name. Call names_sort() afterwards. -ENOMEM: out of memory. */
int names_add(struct names *names, const char *name);
void names_sort(struct names *names);

/* Returns whether the name is among the first `count`, which must be sorted. */
bool names_has(const struct names *names, size_t count, const char *name);

void names_free(struct names *names);

#endif
