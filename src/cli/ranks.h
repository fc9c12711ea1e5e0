/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests from the daemon what the sessions' pages do not have: the terms of GPU time (guarantee,
 * weight, class, gang), clamps and reports. Makes a short text for a line of `ls`, and JSON.
 *
 *      if (ranks_list(&store, &ranks))
 *              rank = ranks_find(&ranks, "team-a");
 *      ranks_free(&ranks);
 */
#ifndef ALIQUOT_CLI_RANKS_H
#define ALIQUOT_CLI_RANKS_H

#include "cli/client.h"
#include "common/json_out.h"

#define RANK_USUAL_WEIGHT 100u
#define RANK_TEXT_BYTES 256u

struct rank {
        char name[PAGE_NAME_BYTES];
        bool is_clamped, is_reported, is_ending;
        bool swaps;
        /* for how long its memory has had to be off the card; 0: it has its turn */
        uint64_t hold_ns;
        uint32_t guarantee_ppm; /* 0: none */
        uint32_t weight;        /* 0: not known */
        char priority[CLIENT_WORD_BYTES];
        char gang[PAGE_NAME_BYTES]; /* "": no gang */
};

struct ranks {
        struct rank *at; /* sorted by name; freed by ranks_free() */
        size_t count, room;
};

struct rank rank_of(const struct client_session *session);

/* Lists all sessions. False, with an empty list: no daemon answers within a short time. */
bool ranks_list(const struct store *store, struct ranks *ret);

/* Returns the entry of a session, which is borrowed. NULL: there is none. */
const struct rank *ranks_find(const struct ranks *ranks, const char *name);
void ranks_free(struct ranks *ranks);

/* Makes a text of the values that are not the defaults, for example ", compute 20%-30%, weight 200,
 * rt, gang ranks, clamped"; "" if there are none. Without a `rank` (NULL) the text has only the
 * cap. */
const char *rank_text(const struct rank *rank, uint32_t cap_ppm, char ret[RANK_TEXT_BYTES]);

/* Prints the fields weight, priority and gang; they are null if `rank` is NULL. */
void rank_json(struct json_out *out, const struct rank *rank);

#endif
