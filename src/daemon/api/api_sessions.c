/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers lists of sessions in order of their names, a page at a time; one session; and its
 * processes.
 */
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "daemon/api/api_parts.h"
#include "daemon/base/json_memory.h"
#include "settings/settings.h"

#define LIST_USUAL 100u
#define LIST_MAX 1000u
#define LABELS_MAX 8u

struct label {
        const char *key, *value;
};

/* A condition on a property of sessions: with it (is_so) or without it. If not is_made, there is no
 * condition. */
struct choice {
        bool is_made, is_so;
};

struct filter {
        uint64_t limit;
        const char *after;
        bool has_owner;
        uint64_t owner;
        struct choice clamped, reported;
        unsigned label_count;
        struct label label[LABELS_MAX];
};

static bool read_limit(struct filter *ret, const char *value)
{
        return api_whole(value, LIST_MAX, &ret->limit) && ret->limit;
}

static bool read_after(struct filter *ret, const char *value)
{
        ret->after = value;
        return settings_check_name("", value, NULL) >= 0;
}

static bool read_owner(struct filter *ret, const char *value)
{
        ret->has_owner = true;
        return api_whole(value, UINT32_MAX, &ret->owner);
}

static bool read_choice(struct choice *ret, const char *value)
{
        *ret = (struct choice){ .is_made = true, .is_so = strcmp(value, "true") == 0 };
        return ret->is_so || strcmp(value, "false") == 0;
}

static bool read_clamped(struct filter *ret, const char *value)
{
        return read_choice(&ret->clamped, value);
}

static bool read_reported(struct filter *ret, const char *value)
{
        return read_choice(&ret->reported, value);
}

/* Reads a label filter KEY=VALUE. `value` is in the call's own copy of the query, and is terminated
 * at the end of the key. */
static bool read_label(struct filter *ret, const char *value)
{
        char *equals = strchr((char *)(uintptr_t)value, '=');

        if (!equals || equals == value || ret->label_count == LABELS_MAX)
                return false;
        *equals = '\0';
        ret->label[ret->label_count++] = (struct label){ value, equals + 1 };
        return true;
}

static const struct {
        const char *name;
        bool (*read)(struct filter *ret, const char *value);
        const char *expected;
} parameters[] = {
        { "limit", read_limit, "1 to 1000" },
        { "after", read_after, "the name of a session" },
        { "owner", read_owner, "the number of a user" },
        { "clamped", read_clamped, "true or false" },
        { "reported", read_reported, "true or false" },
        { "label", read_label, "key=value, eight at most" },
};

static bool read_filter(struct api_call *call, struct filter *ret)
{
        const size_t count = sizeof(parameters) / sizeof(parameters[0]);
        struct api_query query;

        *ret = (struct filter){ .limit = LIST_USUAL, .after = "" };
        api_query_begin(call, &query);
        while (api_query_next(call, &query)) {
                size_t at = 0;

                while (at < count && strcmp(query.name, parameters[at].name) != 0)
                        at++;
                if (at == count)
                        api_query_refuse(call, &query, "no parameter of this name");
                else if (!parameters[at].read(ret, query.value))
                        api_query_refuse(call, &query, parameters[at].expected);
        }
        return !query.has_failed;
}

static bool has_labels(const struct sessions_one *session, const struct filter *filter)
{
        json_t *labels;
        bool is_so = true;

        if (!filter->label_count)
                return true;
        labels = json_loads(session->labels[0] ? session->labels : "{}", 0, NULL);
        for (unsigned i = 0; is_so && i < filter->label_count; i++) {
                const char *value =
                        json_string_value(json_object_get(labels, filter->label[i].key));

                is_so = value && strcmp(value, filter->label[i].value) == 0;
        }
        json_decref(labels);
        return is_so;
}

/* Whether any share of the session is reported for its GPU time. */
static bool is_reported(const struct node *node, const struct sessions_one *session)
{
        struct node_compute_report report;
        bool is_so = false;

        for (unsigned i = 0; !is_so && i < session->share_count; i++)
                is_so = node_compute_report(node, session, i, &report);
        return is_so;
}

static bool is_wanted(const struct api_call *call, const struct sessions_one *session,
                      const struct filter *filter)
{
        return session->state != SESSIONS_FREE && api_may_see(call, session) &&
               strcmp(session->name, filter->after) > 0 &&
               (!filter->has_owner || session->owner_uid == filter->owner) &&
               (!filter->clamped.is_made ||
                node_is_clamped(call->api->options.node, session) == filter->clamped.is_so) &&
               (!filter->reported.is_made ||
                is_reported(call->api->options.node, session) == filter->reported.is_so) &&
               has_labels(session, filter);
}

static int by_name(const void *a, const void *b)
{
        const struct sessions_one *const *left = a, *const *right = b;

        return strcmp((*left)->name, (*right)->name);
}

static unsigned choose_sessions(const struct api_call *call, const struct filter *filter,
                                const struct sessions_one **ret)
{
        const struct sessions *all = node_sessions(call->api->options.node);
        unsigned count = 0;

        for (unsigned i = 0; i < all->entries; i++) {
                if (is_wanted(call, &all->session[i], filter))
                        ret[count++] = &all->session[i];
        }
        qsort(ret, count, sizeof(const struct sessions_one *), by_name);
        return count;
}

void api_get_sessions(struct api_call *call)
{
        static const struct sessions_one *chosen[SESSIONS_MAX];
        char query[API_QUERY_BYTES];
        bool is_short =
                text_put(query, sizeof(query), NULL, "%s", call->exchange->request->query) == 0;
        struct filter filter;
        unsigned count, shown;

        if ((is_short && api_reply_kept(call, query)) || !read_filter(call, &filter))
                return;
        count = choose_sessions(call, &filter, chosen);
        /* labels that could not be read must not count as a mismatch */
        if (json_memory_was_short()) {
                api_refuse(call, 503, "unavailable", NULL, "out of memory");
                return;
        }
        shown = count < filter.limit ? count : (unsigned)filter.limit;
        api_reply_list(call, is_short ? query : NULL, chosen, shown, shown == count);
}

void api_get_session(struct api_call *call)
{
        const struct sessions_one *session = api_find(call);

        if (!session)
                return;
        http_header(call->exchange, "ETag", "\"%llu\"", (unsigned long long)session->version);
        api_reply_session(call, 200, session);
}

void api_get_processes(struct api_call *call)
{
        const struct sessions_one *session = api_find(call);
        json_t *list;

        if (!session)
                return;
        list = api_view_processes(call->api, session);
        if (list)
                http_reply_json(call->exchange, 200, list);
        else
                api_refuse(call, 503, "unavailable", NULL,
                           "the sessions of user %u were looked at a lot; ask again",
                           session->owner_uid);
}
