/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session's folder says what the session was promised, whatever is done to the session and
 * whatever its tenant does to `slots`.
 */
#include "common/clock.h"
#include "daemon/node/promise.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "tenant_stage.h"

static struct tenant tenant;

static int begin(void **state)
{
        if (make_folder("promise"))
                return -1;
        tenant_begin(&tenant, "a", 40000);
        tenant.session.version = 3;
        tenant.session.is_context_free = false;
        tenant.session.share[0].guarantee_milli_percent = 25000;
        return folder_limit(&store, &tenant.session, false, NULL);
}

static int end(void **state)
{
        tenant_end(&tenant);
        return drop_folder(state);
}

static const char *path_of(const char *file)
{
        static char path[STORE_PATH_BYTES + 32];

        snprintf(path, sizeof(path), "%s/sessions/a/%s", store.path, file);
        return path;
}

static void expect_promise(uint64_t version, bool is_shut)
{
        struct promise promise;
        struct error err = { 0 };

        if (promise_read(&store, "a", &promise, &err) != 1)
                fail_msg("%s", err.text);
        assert_true(promise_is_same(&promise.session, &tenant.session));
        assert_memory_equal(promise.session.id, tenant.session.id, sizeof(tenant.session.id));
        assert_string_equal(promise.session.name, "a");
        assert_int_equal(promise.session.owner_uid, geteuid());
        assert_int_equal(promise.session.version, version);
        assert_int_equal(promise.is_shut, is_shut);
        assert_false(promise.is_live);
}

static void test_a_folder_says_what_its_session_was_promised(void **state)
{
        expect_promise(3, false);
        tenant.session.version = 4;
        tenant.session.share[0].memory_bytes = 2 * GIB;
        assert_int_equal(folder_limit(&store, &tenant.session, false, NULL), 0);
        expect_promise(4, false);
}

/* The rest of the time nobody needs to wait for memory of the dead. */
static void test_a_promise_is_dated_when_it_is_raised(void **state)
{
        const struct limits_device *row = &tenant.pages.limits->device[0];
        uint64_t made_ns = row->promised_at_ns;

        assert_true(made_ns > 0 && made_ns <= clock_now_ns());
        tenant.session.share[0].memory_bytes /= 2;
        assert_int_equal(folder_limit(&store, &tenant.session, false, NULL), 0);
        assert_int_equal(folder_limit(&store, &tenant.session, true, NULL), 0);
        assert_int_equal(row->promised_at_ns, made_ns);
        tenant.session.share[0].memory_bytes *= 2;
        assert_int_equal(folder_limit(&store, &tenant.session, false, NULL), 0);
        assert_true(row->promised_at_ns > made_ns);
}

static void test_a_clamped_session_keeps_its_promise(void **state)
{
        assert_int_equal(folder_limit(&store, &tenant.session, true, NULL), 0);
        assert_int_equal(tenant.pages.limits->device[0].limit_bytes, SETTINGS_NOTHING_BYTES);
        expect_promise(3, false);
}

static void test_a_session_that_is_shut_keeps_its_promise(void **state)
{
        assert_int_equal(folder_shut(&store, &tenant.session, NULL), 0);
        assert_int_equal(tenant.pages.limits->device[0].limit_bytes, SETTINGS_NOTHING_BYTES);
        expect_promise(3, true);
}

/* The tenant can do all this but the last. */
static void test_what_a_tenant_does_to_slots_hides_no_promise(void **state)
{
        assert_int_equal(chmod(path_of("slots"), 0666), 0);
        expect_promise(3, false);
        assert_int_equal(truncate(path_of("slots"), 0), 0);
        expect_promise(3, false);
        if (geteuid() == 0) { /* who cannot open it takes it for live */
                assert_int_equal(chmod(path_of("slots"), 0), 0);
                expect_promise(3, false);
        }
        assert_int_equal(unlink(path_of("slots")), 0);
        expect_promise(3, false);
}

/* As an older daemon left it: only the limit that holds is known. */
static void test_a_page_without_a_promise_gives_its_limit(void **state)
{
        struct limits_page *page = NULL;
        int fd = open(path_of("limits"), O_RDWR);

        page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        assert_true(page != MAP_FAILED);
        page->session_version = 0;
        page->device[0].promised_bytes = 0;
        page->device[0].guarantee_milli_percent = 0;
        tenant.session.share[0].guarantee_milli_percent = 0;
        expect_promise(0, false);
        munmap(page, sizeof(*page));
        close(fd);
}

static void test_a_users_session_and_none_are_no_promise(void **state)
{
        struct promise promise;
        int fd = open(path_of("limits"), O_RDWR);
        const uint32_t users = PAGE_OWNER_USER;

        assert_int_equal(promise_read(&store, "none", &promise, NULL), 0);
        assert_int_equal(pwrite(fd, &users, sizeof(users), offsetof(struct limits_page, owner)), 4);
        assert_int_equal(promise_read(&store, "a", &promise, NULL), 0);
        assert_int_equal(pwrite(fd, "", 1, 0), 1); /* the magic */
        assert_int_equal(promise_read(&store, "a", &promise, NULL), -EPROTO);
        assert_false(promise.is_live);
        close(fd);
}

#define story(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
        const struct CMUnitTest tests[] = {
                story(test_a_folder_says_what_its_session_was_promised),
                story(test_a_promise_is_dated_when_it_is_raised),
                story(test_a_clamped_session_keeps_its_promise),
                story(test_a_session_that_is_shut_keeps_its_promise),
                story(test_what_a_tenant_does_to_slots_hides_no_promise),
                story(test_a_page_without_a_promise_gives_its_limit),
                story(test_a_users_session_and_none_are_no_promise),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
