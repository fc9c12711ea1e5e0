/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of all sessions that this user may know of, sorted: those in the folder, or those that
 * the daemon tells where the folder is not this user's to list (CLIENT_AWAY: it does not).
 */
#ifndef ALIQUOT_CLI_NAMES_H
#define ALIQUOT_CLI_NAMES_H

#include "store/store.h"

struct names {
        char (*at)[PAGE_NAME_BYTES]; /* names_free() */
        size_t count, room;
};

int names_read(const struct store *store, struct names *ret, struct error *err);
void names_free(struct names *names);

#endif
