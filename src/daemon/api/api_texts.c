/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the JSON texts of sessions and of lists for a short time.
 *
 * For a list, the file of each session must be read and each session must be written as JSON. If
 * many clients ask at once, this is done once for all. A text is valid for AGE_NS, and only while
 * all fields of the session are unchanged, so its settings are never outdated, and its use is at
 * most AGE_NS old. There is one text per entry of the session table; a new session in an entry gets
 * the buffer of the old one.
 *
 * The latest few lists are kept whole in the same way, as long as no session has changed: for the
 * same query and the same access.
 *
 * A request for a single session always looks.
 */
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "daemon/api/api_parts.h"

#define AGE_NS UINT64_C(100000000)
#define LISTS 4u

struct kept_text {
        struct sessions_one one; /* the session as it was when the text was written */
        uint64_t at_ns;          /* when the text was written; 0: never */
        struct json_out text;
};

struct kept_list {
        bool sees_all;
        uint32_t uid; /* the client, if it does not see all sessions */
        char query[API_QUERY_BYTES];
        uint64_t steps, at_ns;
        struct http_shared *text; /* NULL: this entry is unused */
};

struct api_texts {
        struct kept_text *kept[SESSIONS_MAX]; /* by session index; NULL: never needed */
        struct kept_list list[LISTS];
};

struct api_texts *api_texts_new(void)
{
        return calloc(1, sizeof(struct api_texts));
}

void api_texts_free(struct api_texts *texts)
{
        for (unsigned i = 0; texts && i < SESSIONS_MAX; i++) {
                if (texts->kept[i])
                        json_out_free(&texts->kept[i]->text);
                free(texts->kept[i]);
        }
        for (unsigned i = 0; texts && i < LISTS; i++)
                http_shared_drop(texts->list[i].text);
        free(texts);
}

/* Whether a text is at most AGE_NS old. If the clock was set back, no text is valid. */
static bool is_young(uint64_t at_ns, uint64_t now_ns)
{
        return at_ns && now_ns - at_ns <= AGE_NS;
}

static void refuse_no_memory(struct api_call *call)
{
        api_refuse(call, 503, "unavailable", NULL, "out of memory");
}

/* -- Sessions --------------------------------------------------------------------------------- */

/* Returns the entry for the session's text. NULL: out of memory. */
static struct kept_text *text_entry_of(const struct http_api *api,
                                       const struct sessions_one *session)
{
        const struct sessions *all = node_sessions(api->options.node);
        struct kept_text **place = &api->texts->kept[session - all->session];

        if (!*place)
                *place = calloc(1, sizeof(**place));
        return *place;
}

static void write_anew(const struct http_api *api, struct kept_text *kept,
                       const struct sessions_one *session)
{
        json_out_clear(&kept->text);
        api_put_session(&kept->text, api, session);
        kept->at_ns = node_now_ns();
        memcpy(&kept->one, session, sizeof(*session));
}

static bool is_good(const struct kept_text *kept, const struct sessions_one *session,
                    uint64_t now_ns)
{
        const unsigned char *was = (const unsigned char *)&kept->one;

        return is_young(kept->at_ns, now_ns) && !kept->text.has_failed &&
               memcmp(was, (const unsigned char *)session, sizeof(*session)) == 0;
}

void api_reply_session(struct api_call *call, unsigned status, const struct sessions_one *session)
{
        struct kept_text *kept = text_entry_of(call->api, session);

        if (kept)
                write_anew(call->api, kept, session);
        if (kept && !kept->text.has_failed)
                http_reply(call->exchange, status, "application/json", kept->text.at,
                           kept->text.used);
        else
                refuse_no_memory(call);
}

/* -- Lists ------------------------------------------------------------------------------------ */

static bool is_list_for(const struct kept_list *list, const struct api_call *call,
                        const char *query)
{
        return list->sees_all == call->caller.sees_all &&
               (list->sees_all || list->uid == call->caller.uid) && strcmp(list->query, query) == 0;
}

bool api_reply_kept(struct api_call *call, const char *query)
{
        uint64_t now_ns = node_now_ns(), steps = node_steps(call->api->options.node);

        for (unsigned i = 0; i < LISTS; i++) {
                struct kept_list *list = &call->api->texts->list[i];

                if (!list->text || !is_young(list->at_ns, now_ns) || list->steps != steps ||
                    !is_list_for(list, call, query))
                        continue;
                http_reply_shared(call->exchange, 200, "application/json", list->text);
                return true;
        }
        return false;
}

static struct kept_list *oldest_list(struct api_texts *texts)
{
        struct kept_list *oldest = &texts->list[0];

        for (unsigned i = 1; i < LISTS; i++) {
                if (texts->list[i].at_ns < oldest->at_ns)
                        oldest = &texts->list[i];
        }
        return oldest;
}

/* Appends the session's text, and returns when it was written. */
static uint64_t put_session(struct json_out *out, const struct http_api *api,
                            const struct sessions_one *session)
{
        struct kept_text *kept = text_entry_of(api, session);

        if (kept && !is_good(kept, session, node_now_ns()))
                write_anew(api, kept, session);
        if (!kept || kept->text.has_failed) {
                out->has_failed = true;
                return 0;
        }
        json_out_raw(out, NULL, kept->text.at, kept->text.used);
        return kept->at_ns;
}

/* Writes the list. *ret_at_ns: when its oldest text was written. NULL: out of memory. */
static struct http_shared *write_list(const struct http_api *api,
                                      const struct sessions_one *const *list, unsigned count,
                                      bool is_last, uint64_t *ret_at_ns)
{
        struct json_out out = { 0 };
        uint64_t at_ns = node_now_ns();
        size_t length;
        char *text;

        json_out_open(&out, NULL, '{');
        json_out_open(&out, "sessions", '[');
        for (unsigned i = 0; i < count; i++) {
                uint64_t written_ns = put_session(&out, api, list[i]);

                if (written_ns < at_ns)
                        at_ns = written_ns;
        }
        json_out_close(&out, ']');
        json_out_text(&out, "next", is_last ? NULL : list[count - 1]->name);
        json_out_close(&out, '}');
        text = json_out_take(&out, &length);
        json_out_free(&out);
        *ret_at_ns = at_ns;
        return text ? http_share(text, length) : NULL;
}

void api_reply_list(struct api_call *call, const char *query,
                    const struct sessions_one *const *list, unsigned count, bool is_last)
{
        struct kept_list *kept = oldest_list(call->api->texts);

        http_shared_drop(kept->text);
        kept->text = write_list(call->api, list, count, is_last, &kept->at_ns);
        kept->sees_all = call->caller.sees_all;
        kept->uid = call->caller.uid;
        kept->steps = node_steps(call->api->options.node);
        text_put(kept->query, sizeof(kept->query), NULL, "%s", query ? query : "");
        if (!query)
                kept->at_ns = 0;
        if (kept->text)
                http_reply_shared(call->exchange, 200, "application/json", kept->text);
        else
                refuse_no_memory(call);
}
