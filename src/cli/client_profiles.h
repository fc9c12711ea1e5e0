/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shares of the daemon's that containers can have (client.h says how it is asked).
 *
 * A profile is a share that says in its name what it is, gpu0-4GiB-30, and has a door: the socket
 * by which a container that has it gets a session of its own.
 */
#ifndef ALIQUOT_CLI_CLIENT_PROFILES_H
#define ALIQUOT_CLI_CLIENT_PROFILES_H

#include <stddef.h>

#include "cli/client.h"

struct client_profile {
        char name[PAGE_NAME_BYTES];
        char uuid[UUID_TEXT_BYTES]; /* of its GPU; "": it is not here now */
        unsigned gpu;               /* the same, by its index; 0 without a uuid */
        uint64_t memory_bytes;
        uint32_t cap_ppm; /* PAGE_WHOLE_PPM: none */
        char priority[CLIENT_WORD_BYTES];
        char door[STORE_PATH_BYTES];  /* its socket */
        char from[CLIENT_WORD_BYTES]; /* "config", or "api": it was added */
        unsigned sessions;
};

/* All of them, in memory that is the caller's to free(). */
int client_profiles(const struct store *store, struct client_profile **ret, size_t *ret_count,
                    struct error *err);

/* One that is there already is fine. */
int client_profile_add(const struct store *store, const char *name, struct error *err);

/* -ENOENT: there is none; -EBUSY: the config has it. */
int client_profile_remove(const struct store *store, const char *name, struct error *err);

#endif
