/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions that a daemon makes: its own word in `limits`, the tenant's in `slots`.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/atomic.h"

#include "fixture.h"

#define TENANT 65534u
#define STRANGER 65533u

static const struct store_tenancy theirs = { .id = { 7, 7, 7 }, .uid = TENANT };

static void make_owned(const char *name, const struct store_tenancy *tenancy)
{
        struct store_request request = request_of(name);
        struct store_session session;
        struct error err;

        request.tenancy = tenancy;
        if (store_create(&store, &request, &session, &err) < 0)
                fail_msg("%s", err.text);
        assert_null(session.slots);
        store_close(&session);
}

/* What store_join() answers to a process of that user; with `path` what open() does. */
static int as_user(uid_t uid, const char *name, const char *path)
{
        int status;
        pid_t child = fork();

        assert_true(child >= 0);
        if (child == 0) {
                struct store_session session;

                if (setgid(uid) < 0 || setuid(uid) < 0)
                        _exit(100);
                if (path)
                        _exit(open(path, O_RDWR) < 0 ? errno : 0);
                _exit(-store_join(&store, name, false, &session, NULL));
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        return WEXITSTATUS(status);
}

static void need_root(void)
{
        if (geteuid() == 0)
                return;
        print_message("only root gives a session to another user\n");
        skip();
}

static void test_a_daemon_finds_its_own_sessions_only(void **state)
{
        const struct store_tenancy own = { .id = { 1, 2 }, .uid = geteuid() };
        struct store_session session;

        make_owned("owned", &own);
        make("users");
        assert_int_equal(store_join_owned(&store, "owned", &session, NULL), 0);
        assert_memory_equal(session.limits->session_id, own.id, sizeof(own.id));
        assert_int_equal(session.limits->owner, PAGE_OWNER_DAEMON);
        assert_int_equal(store_is_live(&session, NULL), 0);
        store_close(&session);
        assert_int_equal(store_join_owned(&store, "users", &session, NULL), -EEXIST);
        assert_int_equal(store_join_owned(&store, "none", &session, NULL), -ENOENT);
}

/* What it may use was decided when it was made. */
static void test_a_daemons_session_takes_in_no_further_gpu(void **state)
{
        const struct store_tenancy own = { .id = { 1, 2 }, .uid = geteuid() };
        struct store_session session;

        make_owned("owned", &own);
        assert_int_equal(store_join_owned(&store, "owned", &session, NULL), 0);
        assert_int_equal(store_claim_row(&session, two_gpus.device[1].uuid, 16 * GIB, NULL), 1);
        assert_int_equal(store_claim_row(&session, (uint8_t[16]){ 9 }, 16 * GIB, NULL), -EPERM);
        assert_int_equal(session.limits->device[2].limit_bytes, 0);
        store_close(&session);
}

static void test_nobody_joins_by_descriptors_what_is_being_removed(void **state)
{
        struct store_session owner, tenant = { .path = "" };
        struct store_session before;
        int limits, slots;

        make_and_join("going", &owner);
        limits = open(path_of("going", "limits"), O_RDONLY);
        slots = open(path_of("going", "slots"), O_RDWR);
        assert_int_equal(store_join_pages(limits, slots, "going", &tenant, NULL), 0);
        store_close(&tenant);
        owner.limits->removed = 1;
        memcpy(&before, &tenant, sizeof(before));
        assert_int_equal(store_join_pages(limits, slots, "going", &tenant, NULL), -EBUSY);
        assert_memory_equal(&tenant, &before, sizeof(tenant));
        close(limits);
        close(slots);
        store_close(&owner);
}

static void test_a_tenant_joins_and_cannot_change(void **state)
{
        need_root();
        make_owned("theirs", &theirs);
        assert_int_equal(chmod(store.path, 0711), 0);
        assert_int_equal(chmod(path_of("", ""), 0711), 0);
        assert_int_equal(as_user(TENANT, "theirs", NULL), 0);
        assert_int_equal(as_user(TENANT, NULL, path_of("theirs", "limits")), EACCES);
        assert_int_equal(as_user(STRANGER, "theirs", NULL), EACCES);
        assert_int_equal(as_user(STRANGER, NULL, path_of("theirs", "slots")), EACCES);
}

/* As root of a mount namespace of our own, where the runtime folder is on ramfs. */
static int make_without_access_lists(void)
{
        struct stat folder, limits, slots;

        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("none", store.path, "ramfs", 0, "mode=0711") < 0)
                return 100;
        make_owned("theirs", &theirs);
        if (stat(path_of("theirs", ""), &folder) < 0 ||
            stat(path_of("theirs", "limits"), &limits) < 0 ||
            stat(path_of("theirs", "slots"), &slots) < 0)
                return 1;
        return (folder.st_mode & 07777) == 0711 && (limits.st_mode & 07777) == 0600 &&
                               (slots.st_mode & 07777) == 0600 && slots.st_uid == TENANT
                       ? 0
                       : 2;
}

static void test_without_access_lists_the_socket_is_left_to_go_in_by(void **state)
{
        int status;
        pid_t child;

        need_root();
        child = fork();
        assert_true(child >= 0);
        if (child == 0)
                _exit(make_without_access_lists());
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) == 100) {
                print_message("no mount namespaces here\n");
                skip();
        }
        assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_slots_cut_short_harm_nobody_else(void **state)
{
        struct store_session session;

        make_owned("theirs", &(struct store_tenancy){ .id = { 9 }, .uid = geteuid() });
        assert_int_equal(truncate(path_of("theirs", "slots"), 0), 0);
        assert_int_equal(store_join_owned(&store, "theirs", &session, NULL), 0);
        assert_int_equal(store_is_live(&session, NULL), 0);
        store_close(&session);
}

/* It is the tenant's file: what its owner may set proves nothing. */
static void test_no_mode_of_slots_is_a_reason_to_fail(void **state)
{
        static const mode_t modes[] = { 0, 0620, 0666, 07777 };
        struct store_session session;

        make_owned("theirs", &(struct store_tenancy){ .id = { 9 }, .uid = geteuid() });
        for (unsigned i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
                assert_int_equal(chmod(path_of("theirs", "slots"), modes[i]), 0);
                assert_int_equal(store_join_owned(&store, "theirs", &session, NULL), 0);
                store_close(&session);
        }
        assert_int_equal(store_remove(&store, "theirs", true, NULL), 0);
        assert_int_equal(store_join_owned(&store, "theirs", &session, NULL), -ENOENT);
}

static void test_shut_is_for_good(void **state)
{
        struct store_session session;

        make_owned("theirs", &(struct store_tenancy){ .id = { 9 }, .uid = geteuid() });
        assert_int_equal(store_join_owned(&store, "theirs", &session, NULL), 0);
        store_shut(&session);
        for (unsigned i = 0; i < 2; i++)
                assert_int_equal(session.limits->device[i].limit_bytes, 1);
        assert_int_equal(session.limits->default_limit_bytes, 1);
        store_close(&session);
        expect_refused("theirs", -EBUSY, "is being removed");
}

static void test_set_aside_is_gone_and_kept(void **state)
{
        char kept[PAGE_NAME_BYTES];

        make("odd");
        assert_int_equal(store_set_aside(&store, "odd", kept, NULL), 0);
        expect_refused("odd", -ENOENT, "");
        assert_int_equal(access(path_of(kept, "limits"), F_OK), 0);
}

static uint32_t clear_kept(void)
{
        _Atomic uint32_t steps = 0;

        store_clear_kept(&store, &(struct store_clearing){ .uid = TENANT, .steps = &steps });
        return load_relaxed(&steps);
}

/* A reader's lease bars whoever would cut the file: it is deleted when it is cut, not before. */
static void test_what_cannot_be_cut_is_not_deleted(void **state)
{
        struct stat st;
        int reader;

        need_root();
        make_owned("theirs", &theirs);
        reader = open(path_of("theirs", "slots"), O_RDONLY);
        assert_true(reader >= 0);
        signal(SIGIO, SIG_IGN);
        assert_int_equal(fcntl(reader, F_SETLEASE, F_RDLCK), 0);
        assert_int_equal(store_bury(&store, "theirs", NULL), 0);
        assert_int_equal(clear_kept(), 1);
        assert_int_equal(fstat(reader, &st), 0);
        assert_int_equal(st.st_nlink, 1);
        assert_int_equal(fcntl(reader, F_SETLEASE, F_UNLCK), 0);
        assert_int_equal(clear_kept(), 1);
        assert_int_equal(fstat(reader, &st), 0);
        assert_int_equal(st.st_nlink, 0);
        assert_int_equal(st.st_size, 0);
        assert_int_equal(st.st_blocks, 0);
        assert_int_equal(clear_kept(), 0);
        close(reader);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                story(test_a_daemon_finds_its_own_sessions_only),
                story(test_a_daemons_session_takes_in_no_further_gpu),
                story(test_nobody_joins_by_descriptors_what_is_being_removed),
                story(test_a_tenant_joins_and_cannot_change),
                story(test_without_access_lists_the_socket_is_left_to_go_in_by),
                story(test_slots_cut_short_harm_nobody_else),
                story(test_no_mode_of_slots_is_a_reason_to_fail),
                story(test_shut_is_for_good),
                story(test_set_aside_is_gone_and_kept),
                story(test_what_cannot_be_cut_is_not_deleted),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
