/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/source_terms.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/findings.h"
#include "cli/top/source_time.h"
#include "common/clock.h"
#include "common/scoped.h"
#include "common/text.h"

#define ONCE_MS 1000u
/* how long to wait for a daemon that usually answers */
#define GRACE_MS 100u
#define SLOW_NS CLOCK_SECOND_NS /* a daemon that takes longer is treated as silent */
#define SILENT_NS (2 * CLOCK_SECOND_NS)

static void forget_terms(struct source_terms *terms)
{
        terms->is_away = true;
        terms->count = 0;
        terms->device_count = 0;
}

/* Returns whether the daemon's socket exists, without connecting to it. */
static bool has_socket(const struct store *store)
{
        char path[STORE_PATH_BYTES + 16];

        return text_put(path, sizeof(path), NULL, "%s/" STORE_DAEMON_SOCKET, store->path) == 0 &&
               access(path, F_OK) == 0;
}

static void begin_question(struct source_terms *terms, const struct store *store)
{
        terms->presence = presence_look(store);
        terms->asked_ns = clock_machine_ns();
        terms->next_ns = terms->asked_ns + CLOCK_SECOND_NS;
        if (terms->presence == PRESENCE_LISTENS && client_is_built)
                terms->question = question_ask(store, terms->wants_devices);
        if (terms->question)
                return;
        forget_terms(terms);
        terms->has_left_socket = terms->presence == PRESENCE_NONE && has_socket(store);
}

static void take_answer(struct source_terms *terms)
{
        struct question *question = terms->question;

        if (question->rc < 0) {
                forget_terms(terms);
        } else {
                free(terms->session);
                terms->session = steal_ptr(&question->session);
                terms->count = question->count;
                terms->device_count = question->device_count;
                memcpy(terms->device, question->device, sizeof(terms->device));
                terms->at_ns = question->at_ns;
                terms->answered_ns = clock_machine_ns();
                terms->is_away = false;
        }
        question_drop(question);
        terms->question = NULL;
}

void source_terms_read(struct source_terms *terms, const struct store *store)
{
        unsigned wait_ms = terms->waits_long ? ONCE_MS : terms->is_away ? 0 : GRACE_MS;
        uint64_t now_ns = clock_machine_ns();

        if (!terms->began_ns)
                terms->began_ns = now_ns;
        if (!terms->question && now_ns >= terms->next_ns)
                begin_question(terms, store);
        if (!terms->question)
                return;
        if (question_is_over(terms->question, wait_ms))
                take_answer(terms);
        else if (terms->waits_long || now_ns - terms->asked_ns >= SLOW_NS)
                forget_terms(terms);
}

void source_terms_close(struct source_terms *terms)
{
        question_drop(terms->question);
        free(terms->session);
        memset(terms, 0, sizeof(*terms));
}

static bool is_expected(const struct source_terms *terms, bool has_sessions)
{
        switch (terms->presence) {
        case PRESENCE_LISTENS:
        case PRESENCE_STARTS:
                return true;
        case PRESENCE_NONE:
                return has_sessions || (terms->answered_ns && terms->has_left_socket);
        default: /* this user has no access, which is reported elsewhere */
                return false;
        }
}

bool source_terms_is_silent(const struct source_terms *terms, bool has_sessions,
                            uint64_t *ret_seconds)
{
        uint64_t since_ns = terms->answered_ns ? terms->answered_ns : terms->began_ns;
        uint64_t silent_ns = terms->waits_long ? 0 : clock_machine_ns() - since_ns;

        *ret_seconds = silent_ns / CLOCK_SECOND_NS;
        return client_is_built && terms->is_away && is_expected(terms, has_sessions) &&
               (terms->waits_long || silent_ns >= SILENT_NS);
}

int source_terms_names(const struct source_terms *terms, struct names *ret)
{
        int rc = 0;

        for (size_t i = 0; rc == 0 && i < terms->count; i++)
                rc = names_add(ret, terms->session[i].name);
        return rc;
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

/* Returns the seconds until an ISO 8601 time in UTC; -1: no time is given. */
static int64_t seconds_until(const char *text)
{
        struct tm tm = { 0 };
        time_t end, now = time(NULL);

        if (!strptime(text, "%Y-%m-%dT%H:%M:%S", &tm))
                return -1;
        end = timegm(&tm);
        return end > now ? end - now : 0;
}

static void add_finding(const struct client_finding *finding, struct snapshot_time *ret)
{
        text_put(ret->finding, sizeof(ret->finding), NULL, "%.23s", finding->why);
}

/* Adds to the existing shares what only the daemon knows. */
static void add_times(const struct source_terms *terms, const struct client_session *told,
                      struct snapshot_session *ret)
{
        uint8_t uuid[16];

        for (unsigned i = 0; i < told->share_count; i++) {
                for (unsigned j = 0; uuid_parse(told->share[i].uuid, uuid) && j < ret->share_count;
                     j++) {
                        if (memcmp(ret->share[j].uuid, uuid, sizeof(uuid)) != 0)
                                continue;
                        source_time_add(&told->share[i], terms->at_ns, &ret->share[j].time);
                        add_finding(&told->share[i].finding, &ret->share[j].time);
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
        ret->is_reported = findings_has_any(told);
        ret->weight = told->weight;
        text_put(ret->priority, sizeof(ret->priority), NULL, "%s", told->priority);
        text_put(ret->gang, sizeof(ret->gang), NULL, "%s", told->gang);
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
                add_finding(&of->finding, &share->time);
                ret->used_bytes += share->used_bytes;
                ret->share_count++;
        }
}
