/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ranks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/findings.h"
#include "cli/presence.h"
#include "common/text.h"
#include "common/units.h"
#include "settings/settings.h"

#define PATIENCE_MS 1000

struct rank rank_of(const struct client_session *session)
{
        struct rank rank = { .is_clamped = session->is_clamped,
                             .is_reported = findings_has_any(session),
                             .is_ending = strcmp(session->state, "open") != 0,
                             .swaps = session->swaps,
                             .hold_ns = session->swap.hold_ns,
                             .weight = session->weight };

        /* a session has one guarantee, the same on all of its GPUs */
        if (session->share_count)
                rank.guarantee_ppm = session->share[0].guarantee_ppm;
        memcpy(rank.name, session->name, sizeof(rank.name));
        memcpy(rank.priority, session->priority, sizeof(rank.priority));
        memcpy(rank.gang, session->gang, sizeof(rank.gang));
        return rank;
}

static int add_rank(const struct client_session *session, void *context)
{
        struct ranks *ranks = context;

        if (ranks->count == ranks->room) {
                size_t room = ranks->room ? 2 * ranks->room : 64;
                void *grown = reallocarray(ranks->at, room, sizeof(*ranks->at));

                if (!grown)
                        return -ENOMEM;
                ranks->at = grown;
                ranks->room = room;
        }
        ranks->at[ranks->count++] = rank_of(session);
        return 0;
}

static int by_name(const void *a, const void *b)
{
        return strcmp(((const struct rank *)a)->name, ((const struct rank *)b)->name);
}

bool ranks_list(const struct store *store, struct ranks *ret)
{
        const struct client_listener listener = { .each = add_rank,
                                                  .context = ret,
                                                  .patience_ms = PATIENCE_MS };

        *ret = (struct ranks){ 0 };
        if (presence_look(store) != PRESENCE_LISTENS || client_list(store, &listener, NULL) < 0) {
                ranks_free(ret); /* the entries from the pages of the list before the failed one */
                return false;
        }
        if (ret->count)
                qsort(ret->at, ret->count, sizeof(*ret->at), by_name);
        return true;
}

const struct rank *ranks_find(const struct ranks *ranks, const char *name)
{
        struct rank key = { 0 };

        if (!ranks->count || text_put(key.name, sizeof(key.name), NULL, "%s", name) < 0)
                return NULL;
        return bsearch(&key, ranks->at, ranks->count, sizeof(*ranks->at), by_name);
}

void ranks_free(struct ranks *ranks)
{
        free(ranks->at);
        *ranks = (struct ranks){ 0 };
}

static const char *percent(uint32_t ppm, char ret[SIZE_TEXT_BYTES])
{
        return size_canonical(&(struct size){ .micro_percent = ppm * MICRO_PERCENT_A_PPM }, ret);
}

/* Adds the GPU time: "20%-30%" is a guarantee and a cap, "30%" a cap only. */
static void add_time(struct text *text, uint32_t guarantee_ppm, uint32_t cap_ppm)
{
        char least[SIZE_TEXT_BYTES], most[SIZE_TEXT_BYTES];

        if (guarantee_ppm)
                text_add(text, ", compute %s-%s", percent(guarantee_ppm, least),
                         percent(cap_ppm, most));
        else if (cap_ppm < PAGE_WHOLE_PPM)
                text_add(text, ", compute %s", percent(cap_ppm, most));
}

const char *rank_text(const struct rank *rank, uint32_t cap_ppm, char ret[RANK_TEXT_BYTES])
{
        char held[DURATION_TEXT_BYTES];
        struct text text;

        text_begin(&text, ret, RANK_TEXT_BYTES);
        add_time(&text, rank ? rank->guarantee_ppm : 0, cap_ppm);
        if (!rank)
                return ret;
        if (rank->weight && rank->weight != RANK_USUAL_WEIGHT)
                text_add(&text, ", weight %u", rank->weight);
        if (rank->priority[0] && strcmp(rank->priority, "normal") != 0)
                text_add(&text, ", %s", rank->priority);
        if (rank->gang[0])
                text_add(&text, ", gang %s", rank->gang);
        if (rank->swaps)
                text_add(&text, ", swaps");
        if (rank->hold_ns)
                text_add(&text, ", held %s", duration_format(rank->hold_ns, held));
        if (rank->is_ending)
                text_add(&text, ", ending");
        if (rank->is_clamped)
                text_add(&text, ", clamped");
        if (rank->is_reported)
                text_add(&text, ", reported");
        return ret;
}

void rank_json(struct json_out *out, const struct rank *rank)
{
        if (rank)
                json_out_u64(out, "weight", rank->weight);
        else
                json_out_null(out, "weight");
        json_out_text(out, "priority", rank ? rank->priority : NULL);
        json_out_text(out, "gang", rank && rank->gang[0] ? rank->gang : NULL);
}
