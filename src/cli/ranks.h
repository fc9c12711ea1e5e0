/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the daemon for the GPU time terms of its sessions (guarantee, weight, class, gang) and for
 * clamps and reports, which the sessions' pages do not have. Short text for a line of `ls`, and
 * JSON.
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
        uint64_t hold_ns;       /* for so long its memory has had to be off the card; 0: it runs */
        uint32_t guarantee_ppm; /* 0: none */
        uint32_t weight;        /* 0: not told */
        char priority[CLIENT_WORD_BYTES];
        char gang[PAGE_NAME_BYTES]; /* "": no gang */
};

struct ranks {
        struct rank *at; /* sorted by name; ranks_free() */
        size_t count, room;
};

struct rank rank_of(const struct client_session *session);

/* Lists all sessions; false, and an empty list: no daemon answers within a short time. */
bool ranks_list(const struct store *store, struct ranks *ret);

/* The entry of a session, borrowed; NULL: none is known. */
const struct rank *ranks_find(const struct ranks *ranks, const char *name);
void ranks_free(struct ranks *ranks);

/* Text for values other than the defaults, such as ", compute 20%-30%, weight 200, rt, gang ranks,
 * clamped"; "" if there are none. `rank` may be NULL: then only the cap. */
const char *rank_text(const struct rank *rank, uint32_t cap_ppm, char ret[RANK_TEXT_BYTES]);

/* weight, priority and gang; all null where `rank` is. */
void rank_json(struct json_out *out, const struct rank *rank);

#endif
