/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the contents of the database. The same rules apply to what is written and to what is read,
 * because the file may have been edited, restored or damaged in between.
 */
#include <errno.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "daemon/database/database_parts.h"
#include "settings/settings.h"

#define WEIGHT_MAX 10000u
#define PRIORITY_MAX 2u
#define MILLI_PERCENT_MAX 100000u

static bool is_zero_id(const uint8_t id[16])
{
        static const uint8_t nobody[16];

        return memcmp(id, nobody, sizeof(nobody)) == 0;
}

/* Whether the text is one JSON object and, if `of_strings`, has only strings as values. */
static bool is_object(const char *text, bool of_strings)
{
        struct json json;
        struct json_token token;
        unsigned count = 0;

        json_begin(&json, text, strlen(text));
        for (;; count++) {
                if (json_next(&json, &token, NULL) < 0)
                        return false;
                if (token.kind == JSON_END)
                        return true;
                if (count == 0 && token.kind != JSON_OBJECT)
                        return false;
                if (count && of_strings && token.kind != JSON_KEY && token.kind != JSON_STRING &&
                    token.kind != JSON_OBJECT_END)
                        return false;
        }
}

static const char *bad_share(const struct sessions_one *session, unsigned at)
{
        const struct sessions_share *share = &session->share[at];

        if (is_zero_id(share->uuid))
                return "gpu";
        for (unsigned i = 0; i < at; i++) {
                if (memcmp(session->share[i].uuid, share->uuid, sizeof(share->uuid)) == 0)
                        return "gpu, which is named twice";
        }
        if (share->memory_bytes == 0 || share->memory_bytes > INT64_MAX)
                return "memory";
        if (share->ceiling_bytes > INT64_MAX)
                return "ceiling";
        if (share->compute_milli_percent > MILLI_PERCENT_MAX)
                return "compute";
        if (share->guarantee_milli_percent > MILLI_PERCENT_MAX)
                return "guarantee";
        return NULL;
}

static const char *bad_number(const struct sessions_one *session)
{
        if (session->weight == 0 || session->weight > WEIGHT_MAX)
                return "weight";
        if (session->priority > PRIORITY_MAX)
                return "priority";
        if (session->state < SESSIONS_OPEN || session->state > SESSIONS_KILLING)
                return "state";
        if (session->ending > SESSIONS_KILL)
                return "ending";
        if (session->version == 0 || session->version > INT64_MAX)
                return "version";
        if ((session->created_ns | session->expires_ns | session->ttl_ns | session->ended_ns) >
            INT64_MAX)
                return "time";
        return NULL;
}

static bool is_plain_text(const char *text, size_t bytes)
{
        return memchr(text, '\0', bytes) && text_is_plain(text);
}

/* Whether the fields are valid: a session of a container has all of them, any other session has
 * none. */
static bool is_container(const struct sessions_container *container)
{
        const bool is_any = container->profile[0] != '\0';

        return is_plain_text(container->profile, sizeof(container->profile)) &&
               is_plain_text(container->id, sizeof(container->id)) &&
               is_plain_text(container->cgroup, sizeof(container->cgroup)) &&
               container->inode <= INT64_MAX && is_any == (container->id[0] != '\0') &&
               is_any == (container->cgroup[0] == '/') && is_any == (container->inode != 0) &&
               (!is_any || settings_check_name("", container->profile, NULL) == 0);
}

static const char *bad_field(const struct sessions_one *session)
{
        const char *bad = bad_number(session);

        if (bad)
                return bad;
        if (is_zero_id(session->id))
                return "id";
        if (!memchr(session->labels, '\0', sizeof(session->labels)) ||
            !text_is_plain(session->labels) ||
            (session->labels[0] && !is_object(session->labels, true)))
                return "labels";
        if (!memchr(session->gang, '\0', sizeof(session->gang)) ||
            (session->gang[0] && settings_check_name("", session->gang, NULL) < 0))
                return "gang";
        if (!is_container(&session->container))
                return "container";
        if (session->share_count == 0 || session->share_count > SESSIONS_GPUS)
                return "count of GPUs";
        for (unsigned i = 0; i < session->share_count && !bad; i++)
                bad = bad_share(session, i);
        return bad;
}

int database_check_session(const struct sessions_one *session, struct error *err)
{
        const char *bad;

        if (!memchr(session->name, '\0', sizeof(session->name)))
                return fail(err, -EINVAL, "a session's name has no end");
        if (settings_check_name("session", session->name, err) < 0)
                return -EINVAL;
        bad = bad_field(session);
        return bad ? fail(err, -EINVAL, "session %s: impossible %s", session->name, bad) : 0;
}

static bool is_type(const char *type)
{
        static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.";

        return type[0] && strspn(type, allowed) == strlen(type);
}

static const char *bad_event(const struct database_event *event)
{
        const char *detail = event->detail ? event->detail : "{}";

        if (!memchr(event->type, '\0', sizeof(event->type)) || !is_type(event->type))
                return "type";
        if (!memchr(event->session, '\0', sizeof(event->session)) ||
            (event->session[0] && settings_check_name("", event->session, NULL) < 0))
                return "session";
        if (!memchr(event->who, '\0', sizeof(event->who)) || !text_is_plain(event->who))
                return "who";
        if (event->time_ns > INT64_MAX)
                return "time";
        if (strlen(detail) >= DATABASE_DETAIL_BYTES || !text_is_plain(detail) ||
            !is_object(detail, false))
                return "detail";
        return NULL;
}

int database_check_event(const struct database_event *event, struct error *err)
{
        const char *bad = bad_event(event);

        return bad ? fail(err, -EINVAL, "audit event: impossible %s", bad) : 0;
}
