/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's profiles, which are shares for containers (see client.h for the requests).
 *
 * A profile is a share of a GPU whose name describes it, for example gpu0-4GiB-30. It has a socket
 * (its door); a container that can reach the socket gets its own session with that share.
 */
#ifndef ALIQUOT_CLI_CLIENT_PROFILES_H
#define ALIQUOT_CLI_CLIENT_PROFILES_H

#include <stddef.h>

#include "cli/client.h"

struct client_profile {
        char name[PAGE_NAME_BYTES];
        char uuid[UUID_TEXT_BYTES]; /* UUID of its GPU; "": the GPU is not present now */
        unsigned gpu;               /* index of its GPU; 0 without a uuid */
        uint64_t memory_bytes;
        uint32_t cap_ppm; /* PAGE_WHOLE_PPM: no cap */
        char priority[CLIENT_WORD_BYTES];
        char door[STORE_PATH_BYTES];  /* path of its socket */
        char from[CLIENT_WORD_BYTES]; /* "config"; or "api": it was added by a request */
        unsigned sessions;
};

/* Lists all profiles, in memory that the caller frees with free(). */
int client_profiles(const struct store *store, struct client_profile **ret, size_t *ret_count,
                    struct error *err);

/* Adds a profile. Success if it already exists. */
int client_profile_add(const struct store *store, const char *name, struct error *err);

/* Removes a profile. -ENOENT: it does not exist; -EBUSY: it is in the config. */
int client_profile_remove(const struct store *store, const char *name, struct error *err);

#endif
