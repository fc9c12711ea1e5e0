/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sessions of a list, as texts that are kept for a moment.
 *
 * What a list costs is a look into the file of each session, and writing each as JSON. Where many
 * ask at once that is done once: a text is good for AGE_NS, and only as long as the session itself,
 * compared whole, is what it was; so settings are never old, and what is used is at most that old.
 * There is at most one text a place: one that is gone leaves its own to who comes there next.
 *
 * What is asked for alone is looked at each time.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/api_parts.h"

#define AGE_NS UINT64_C(100000000)

struct kept {
        struct sessions_one one; /* as it was written */
        uint64_t at_ns;
        char *text;
};

struct api_texts {
        struct kept *kept[SESSIONS_MOST]; /* by the session's place; NULL: never listed */
};

struct api_texts *api_texts_new(void)
{
        return calloc(1, sizeof(struct api_texts));
}

void api_texts_free(struct api_texts *texts)
{
        for (unsigned i = 0; texts && i < SESSIONS_MOST; i++) {
                if (texts->kept[i])
                        free(texts->kept[i]->text);
                free(texts->kept[i]);
        }
        free(texts);
}

/* A clock that was set back makes no text good. */
static bool is_good(const struct kept *kept, const struct sessions_one *session, uint64_t now_ns)
{
        const unsigned char *was = (const unsigned char *)&kept->one;

        return kept->text && now_ns - kept->at_ns <= AGE_NS &&
               memcmp(was, (const unsigned char *)session, sizeof(*session)) == 0;
}

static void write_anew(const struct api *api, struct kept *kept, const struct sessions_one *session)
{
        json_t *json = api_view_session(api, session);

        free(kept->text);
        kept->text = json ? json_dumps(json, HTTP_JSON) : NULL;
        json_decref(json);
        memcpy(&kept->one, session, sizeof(*session));
}

const char *api_text_session(const struct api *api, const struct sessions_one *session)
{
        const struct sessions *all = node_sessions(api->options.node);
        struct kept **place = &api->texts->kept[session - all->session];
        uint64_t now_ns = node_now_ns();

        if (!*place)
                *place = calloc(1, sizeof(**place));
        if (!*place)
                return NULL;
        if (!is_good(*place, session, now_ns)) {
                write_anew(api, *place, session);
                (*place)->at_ns = now_ns;
        }
        return (*place)->text;
}
