/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/source_terms.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/presence.h"
#include "cli/top/source_time.h"
#include "common/clock.h"
#include "common/text.h"

#define PATIENCE_MS 1000
#define PAUSE_NS (30 * CLOCK_SECOND_NS) /* after one that does not answer */

/* Without memory for it a session is left out. */
static void add(const struct client_session *session, void *context)
{
        struct source_terms *terms = context;

        if (terms->count == terms->room) {
                size_t room = terms->room ? 2 * terms->room : 16;
                void *grown = reallocarray(terms->session, room, sizeof(*terms->session));

                if (!grown)
                        return;
                terms->session = grown;
                terms->room = room;
        }
        terms->session[terms->count++] = *session;
}

static int by_name(const void *a, const void *b)
{
        const struct client_session *first = a, *second = b;

        return strcmp(first->name, second->name);
}

void source_terms_read(struct source_terms *terms, const struct store *store)
{
        const struct client_listener listener = { add, terms, PATIENCE_MS };
        uint64_t now = clock_machine_ns();
        bool is_there = presence_look(store) == PRESENCE_LISTENS;

        if (!is_there)
                terms->count = 0;
        if (!is_there || now < terms->next_ns)
                return;
        terms->count = 0;
        terms->next_ns = now + CLOCK_SECOND_NS;
        if (client_list(store, &listener, NULL) < 0) {
                terms->count = 0;
                terms->next_ns = clock_machine_ns() + PAUSE_NS;
        }
        terms->at_ns = clock_now_ns();
        if (terms->count)
                qsort(terms->session, terms->count, sizeof(*terms->session), by_name);
}

void source_terms_close(struct source_terms *terms)
{
        free(terms->session);
        *terms = (struct source_terms){ 0 };
}

static int is_named(const void *name, const void *session)
{
        return strcmp(name, ((const struct client_session *)session)->name);
}

const struct client_session *source_terms_find(const struct source_terms *terms, const char *name)
{
        return terms->count ? bsearch(name, terms->session, terms->count, sizeof(*terms->session),
                                      is_named)
                            : NULL;
}

/* Seconds until an ISO 8601 time of UTC; -1: there is none. */
static int64_t seconds_until(const char *text)
{
        struct tm tm = { 0 };
        time_t end, now = time(NULL);

        if (!strptime(text, "%Y-%m-%dT%H:%M:%S", &tm))
                return -1;
        end = timegm(&tm);
        return end > now ? end - now : 0;
}

/* Shares that are there already, with what only a daemon knows. */
static void add_times(const struct source_terms *terms, const struct client_session *told,
                      struct snapshot_session *ret)
{
        uint8_t uuid[16];

        for (unsigned i = 0; i < told->share_count; i++) {
                for (unsigned j = 0; uuid_parse(told->share[i].uuid, uuid) && j < ret->share_count;
                     j++) {
                        if (memcmp(ret->share[j].uuid, uuid, sizeof(uuid)) == 0)
                                source_time_add(&told->share[i], terms->at_ns, &ret->share[j].time);
                }
        }
}

void source_terms_fill(const struct source_terms *terms, const struct client_session *told,
                       struct snapshot_session *ret)
{
        struct text text;

        ret->is_ending = strcmp(told->state, "open") != 0;
        ret->has_daemon = true;
        ret->is_clamped = told->is_clamped;
        ret->weight = told->weight;
        text_put(ret->priority, sizeof(ret->priority), NULL, "%s", told->priority);
        ret->left_seconds = ret->is_ending ? -1 : seconds_until(told->expires_at);
        text_put(ret->on_end, sizeof(ret->on_end), NULL, "%s", told->on_end);
        text_begin(&text, ret->labels, sizeof(ret->labels));
        for (unsigned i = 0; i < told->label_count; i++)
                text_add(&text, "%s%s", i ? " " : "", told->label[i]);
        add_times(terms, told, ret);
}

void source_terms_fill_figures(const struct source_terms *terms, const struct client_session *told,
                               struct snapshot_session *ret)
{
        ret->hidden_count = told->processes;
        for (unsigned i = 0; i < told->share_count; i++) {
                struct snapshot_share *share = &ret->share[ret->share_count];
                const struct client_share *of = &told->share[i];

                *share = (struct snapshot_share){ .row = i,
                                                  .device = -1,
                                                  .card_bytes = of->card_bytes,
                                                  .limit_bytes = of->memory_bytes,
                                                  .used_bytes = of->used_bytes };
                if (!uuid_parse(of->uuid, share->uuid))
                        continue;
                source_time_fill(of, terms->at_ns, &share->time);
                ret->used_bytes += share->used_bytes;
                ret->share_count++;
        }
}
