/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A runtime folder of each story's own, and sessions to put in it.
 */
#ifndef TESTS_UNIT_STORE_FIXTURE_H
#define TESTS_UNIT_STORE_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store.h"

/* Last: it defines fail(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define GIB (UINT64_C(1) << 30)

static struct store store; /* a fresh runtime folder for every test */

static const struct settings_limits two_gpus = {
        .has_default = true,
        .default_bytes = 4 * GIB,
        .count = 2,
        .device = { { .uuid = { 1, 1 }, .limit_bytes = 4 * GIB, .card_bytes = 16 * GIB },
                    { .uuid = { 2, 2 },
                      .limit_bytes = 8 * GIB,
                      .card_bytes = 16 * GIB,
                      .is_named = true } },
};

static inline struct store_request request_of(const char *name)
{
        return (struct store_request){ .name = name,
                                       .created_as = "memory=4294967296,1=8589934592",
                                       .device_name = "",
                                       .limits = &two_gpus };
}

static inline int fresh_folder(void **state)
{
        char path[] = "/dev/shm/aliquot-test-XXXXXX";

        assert_non_null(mkdtemp(path));
        snprintf(store.path, sizeof(store.path), "%s", path);
        return 0;
}

static inline int drop_folder(void **state)
{
        char command[STORE_PATH_BYTES + 16];

        snprintf(command, sizeof(command), "rm -rf '%s'", store.path);
        return system(command);
}

static inline void make(const char *name)
{
        struct store_request request = request_of(name);
        struct store_session session;
        struct error err;

        if (store_create(&store, &request, &session, &err) < 0)
                fail_msg("%s", err.text);
        store_close(&session);
}

/* The same, and its owner's way in. */
static inline void make_and_join(const char *name, struct store_session *ret)
{
        make(name);
        assert_int_equal(store_join(&store, name, true, ret, NULL), 0);
}

static inline const char *path_of(const char *name, const char *file)
{
        static char path[2 * STORE_PATH_BYTES];

        snprintf(path, sizeof(path), "%s/sessions/%s%s%s", store.path, name, file[0] ? "/" : "",
                 file);
        return path;
}

/* Joining fails with this code, and the line holds this word. */
static inline void expect_refused(const char *name, int code, const char *word)
{
        struct store_session session;
        struct error err = { 0 };
        int rc = store_join(&store, name, false, &session, &err);

        if (rc != code || !strstr(err.text, word))
                fail_msg("%s: %d, expected %d and '%s' in: %s", name, rc, code, word, err.text);
        assert_null(strchr(err.text, '\n'));
}

#define story(test) cmocka_unit_test_setup_teardown(test, fresh_folder, drop_folder)

#endif
