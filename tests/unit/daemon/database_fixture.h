/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A state folder of each story's own, sessions to keep in it, and all that a database holds as one
 * text to compare.
 */
#ifndef TESTS_UNIT_DAEMON_DATABASE_FIXTURE_H
#define TESTS_UNIT_DAEMON_DATABASE_FIXTURE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/text.h"
#include "daemon/database/database.h"

/* Last: it defines fail(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define GIB (UINT64_C(1) << 30)
#define HELD_BYTES 65536u

static char folder[64];
static char path[128];

static inline int fresh_folder(void **state)
{
        snprintf(folder, sizeof(folder), "/dev/shm/aliquot-test-XXXXXX");
        assert_non_null(mkdtemp(folder));
        snprintf(path, sizeof(path), "%s/" DATABASE_FILE, folder);
        return 0;
}

static inline int drop_folder(void **state)
{
        char command[256];

        snprintf(command, sizeof(command), "chmod -R u+rwx '%s'; rm -rf '%s'", folder, folder);
        return system(command);
}

#define story(test) cmocka_unit_test_setup_teardown(test, fresh_folder, drop_folder)

/* Session `number`, every field of which differs from the others'. */
static inline struct sessions_one session_of(unsigned number)
{
        struct sessions_one session = {
                .id = { 1, (uint8_t)(number >> 8), (uint8_t)number },
                .owner_uid = UINT32_MAX - number,
                .weight = number % 10000 + 1,
                .priority = (uint8_t)(number % 3),
                .state = SESSIONS_OPEN,
                .ending = (uint8_t)(number % 3),
                .share_count = (uint8_t)(number % 3 + 1),
                .is_context_free = number % 2 != 0,
                .created_ns = number + 1,
                .expires_ns = INT64_MAX - number,
                .ttl_ns = number * 7,
                .ended_ns = number * 11,
                .version = number + 1,
        };

        snprintf(session.name, sizeof(session.name), "job-%u", number);
        if (number % 2)
                snprintf(session.gang, sizeof(session.gang), "gang-%u", number);
        if (number % 2) {
                struct sessions_container *container = &session.container;

                snprintf(container->profile, sizeof(container->profile), "4GiB-%u", number);
                snprintf(container->id, sizeof(container->id), "%064x", number);
                snprintf(container->cgroup, sizeof(container->cgroup), "/cgroup/%064x", number);
                container->inode = INT64_MAX - number;
        }
        snprintf(session.labels, sizeof(session.labels), "{\"team\":\"\xc3\xa9%u\"}", number);
        for (unsigned i = 0; i < session.share_count; i++)
                session.share[i] = (struct sessions_share){
                        .uuid = { 0xee, (uint8_t)(i + 1) },
                        .memory_bytes = (number + i + 1) * GIB,
                        .ceiling_bytes = (number + 2 * i + 1) * GIB,
                        .compute_milli_percent = 1000 * (i + 1),
                        .guarantee_milli_percent = 100 * (i + 1),
                };
        return session;
}

static inline struct database_event event_of(const char *type, const char *session)
{
        struct database_event event = { .time_ns = 5, .session_id = { 1 }, .who = "uid 7 pid 8" };

        snprintf(event.type, sizeof(event.type), "%s", type);
        snprintf(event.session, sizeof(event.session), "%s", session);
        event.detail = "{\"n\":1}";
        return event;
}

static inline struct database *open_good(void)
{
        struct database *database = NULL;
        struct error err = { 0 };

        if (database_open(path, true, &database, &err) < 0)
                fail_msg("%s", err.text);
        return database;
}

/* Opening fails with this code and says this, on one line; no file is made, changed or removed. */
static inline void expect_refused(int code, const char *word)
{
        struct database *database = NULL;
        struct error err = { 0 };
        int rc = database_open(path, true, &database, &err);

        if (rc != code || !strstr(err.text, word))
                fail_msg("%d, expected %d and '%s' in: %s", rc, code, word, err.text);
        assert_null(database);
        assert_null(strchr(err.text, '\n'));
}

static inline void save(struct database *database, unsigned number)
{
        struct sessions_one session = session_of(number);
        struct database_event event = event_of("created", session.name);
        struct error err = { 0 };

        if (database_save(database, &session, &event, &err) < 0)
                fail_msg("%s", err.text);
}

static inline int write_session(const struct sessions_one *one, void *context)
{
        struct text *text = context;

        text_add(text,
                 "%s %02x%02x uid %u weight %u %u%u%u%u times %llu %llu %llu %llu v%llu %s %s",
                 one->name, one->id[1], one->id[2], one->owner_uid, one->weight, one->priority,
                 one->state, one->ending, one->is_context_free, (unsigned long long)one->created_ns,
                 (unsigned long long)one->expires_ns, (unsigned long long)one->ttl_ns,
                 (unsigned long long)one->ended_ns, (unsigned long long)one->version, one->labels,
                 one->gang);
        for (unsigned i = 0; i < one->share_count; i++)
                text_add(text, " gpu%u %llu of %llu %u %u", one->share[i].uuid[1],
                         (unsigned long long)one->share[i].memory_bytes,
                         (unsigned long long)one->share[i].ceiling_bytes,
                         one->share[i].compute_milli_percent,
                         one->share[i].guarantee_milli_percent);
        if (one->container.profile[0])
                text_add(text, " in %s %s %s %llu", one->container.profile, one->container.id,
                         one->container.cgroup, (unsigned long long)one->container.inode);
        text_add(text, "\n");
        return 0;
}

static inline int write_event(const struct database_event *event, void *context)
{
        text_add(context, "%lld %llu %s %s %u %s %s\n", (long long)event->id,
                 (unsigned long long)event->time_ns, event->type, event->session,
                 event->session_id[0], event->who, event->detail);
        return 0;
}

static inline const char *held_by(struct database *database, char ret[HELD_BYTES])
{
        struct text text;
        struct error err = { 0 };

        text_begin(&text, ret, HELD_BYTES);
        if (database_each(database, write_session, &text, &err) < 0 ||
            database_events(database, &(struct event_query){ 0, UINT32_MAX, NULL }, write_event,
                            &text, &err) < 0)
                fail_msg("%s", err.text);
        assert_false(text.is_cut);
        return ret;
}

#endif
