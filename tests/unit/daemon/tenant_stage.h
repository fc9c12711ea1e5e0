/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions with real pages in a runtime folder of the test's own, on one GPU; the stories play
 * their programs.
 */
#ifndef TESTS_UNIT_DAEMON_TENANT_STAGE_H
#define TESTS_UNIT_DAEMON_TENANT_STAGE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "daemon/node/folder.h"

/* Last: it defines fail(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define GIB (UINT64_C(1) << 30)
#define MS UINT64_C(1000000)

static struct store store;

static inline int make_folder(const char *name)
{
        snprintf(store.path, sizeof(store.path), "/dev/shm/aliquot-test-%s-%d", name, getpid());
        return mkdir(store.path, 0700) < 0 || folder_prepare(&store, NULL) < 0;
}

static inline int drop_folder(void **state)
{
        char command[STORE_PATH_BYTES + 16];

        snprintf(command, sizeof(command), "rm -rf %s", store.path);
        return system(command);
}

/* A session and what its programs have mapped of it. */
struct tenant {
        struct sessions_one session;
        struct store_session pages;
};

static inline void tenant_begin(struct tenant *tenant, const char *name, uint32_t cap_milli_percent)
{
        static const struct cards cards = {
                .count = 1, .card = { { .uuid = { 1 }, .total_bytes = 16 * GIB } }
        };
        struct error err;

        *tenant = (struct tenant){ .session = {
                                           .weight = 100,
                                           .priority = 1,
                                           .share_count = 1,
                                           .owner_uid = geteuid(),
                                           .state = SESSIONS_OPEN,
                                           .share = { { .uuid = { 1 }, .memory_bytes = GIB } } } };
        snprintf(tenant->session.name, sizeof(tenant->session.name), "%s", name);
        memcpy(tenant->session.id, name, strlen(name));
        tenant->session.share[0].compute_milli_percent = cap_milli_percent;
        if (folder_make(&store, &tenant->session, &cards, &err) < 0 ||
            store_join(&store, name, false, &tenant->pages, &err) < 0)
                fail_msg("%s: %s", name, err.text);
}

static inline void tenant_end(struct tenant *tenant)
{
        store_close(&tenant->pages);
        folder_remove(&store, &tenant->session, NULL);
}

static inline const struct page_lease *lease_of(const struct tenant *tenant)
{
        return &tenant->pages.limits->device[0].lease;
}

static inline uint32_t mode_of(const struct tenant *tenant)
{
        return load_acquire(shared_half(&lease_of(tenant)->mode));
}

static inline void ring(const struct tenant *tenant)
{
        add_acq_rel(shared_half(&tenant->pages.slots->bell), 1);
        clock_wake(shared_half(&tenant->pages.slots->bell), 1);
}

static inline void want(const struct tenant *tenant)
{
        store_release(shared_word(&tenant->pages.slots->meter[0].wanted_at_ns), clock_now_ns());
        ring(tenant);
}

/* Work of it is in flight, and was seen to be at `now_ns`; or nothing is any more. */
static inline void fly(const struct tenant *tenant, uint64_t now_ns)
{
        store_release(shared_word(&tenant->pages.slots->meter[0].active_at_ns), now_ns);
        store_release(shared_half(&tenant->pages.slots->meter[0].drained_turn), 1);
}

static inline void land(const struct tenant *tenant)
{
        store_release(shared_half(&tenant->pages.slots->meter[0].drained_turn), 0);
}

#endif
