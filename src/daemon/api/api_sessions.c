/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading sessions: a page of them in the order of their names, one, and who lives in it.
 */
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "daemon/api/api_parts.h"
#include "settings/settings.h"

#define LIST_USUAL 100u
#define LIST_MOST 1000u
#define LABELS_MOST 8u

struct label {
        const char *key, *value;
};

/* Of those that are so, or of the others; or of all. */
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
        struct label label[LABELS_MOST];
};

static bool read_label(struct filter *filter, char *value)
{
        char *equals = strchr(value, '=');

        if (!equals || equals == value || filter->label_count == LABELS_MOST)
                return false;
        *equals = '\0';
        filter->label[filter->label_count++] = (struct label){ value, equals + 1 };
        return true;
}

static bool read_choice(struct choice *ret, const char *value)
{
        *ret = (struct choice){ .is_made = true, .is_so = strcmp(value, "true") == 0 };
        return ret->is_so || strcmp(value, "false") == 0;
}

static bool read_filter(struct api_call *call, struct filter *ret)
{
        struct api_query query;

        *ret = (struct filter){ .limit = LIST_USUAL, .after = "" };
        api_query_begin(call, &query);
        while (api_query_next(call, &query)) {
                if (strcmp(query.name, "limit") == 0) {
                        if (!api_whole(query.value, LIST_MOST, &ret->limit) || !ret->limit)
                                api_query_refuse(call, &query, "1 to 1000");
                } else if (strcmp(query.name, "after") == 0) {
                        if (settings_check_name("", query.value, NULL) < 0)
                                api_query_refuse(call, &query, "the name of a session");
                        ret->after = query.value;
                } else if (strcmp(query.name, "owner") == 0) {
                        ret->has_owner = true;
                        if (!api_whole(query.value, UINT32_MAX, &ret->owner))
                                api_query_refuse(call, &query, "the number of a user");
                } else if (strcmp(query.name, "clamped") == 0) {
                        if (!read_choice(&ret->clamped, query.value))
                                api_query_refuse(call, &query, "true or false");
                } else if (strcmp(query.name, "reported") == 0) {
                        if (!read_choice(&ret->reported, query.value))
                                api_query_refuse(call, &query, "true or false");
                } else if (strcmp(query.name, "label") == 0) {
                        if (!read_label(ret, (char *)(uintptr_t)query.value))
                                api_query_refuse(call, &query, "key=value, eight at most");
                } else {
                        api_query_refuse(call, &query, "no parameter of this name");
                }
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

/* On any GPU. */
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

static unsigned choose(const struct api_call *call, const struct filter *filter,
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
        static const struct sessions_one *chosen[SESSIONS_MOST];
        char query[API_QUERY_BYTES];
        bool is_short =
                text_put(query, sizeof(query), NULL, "%s", call->exchange->request->query) == 0;
        struct filter filter;
        unsigned count, shown;

        if ((is_short && api_reply_kept(call, query)) || !read_filter(call, &filter))
                return;
        count = choose(call, &filter, chosen);
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
