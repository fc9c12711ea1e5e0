/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session is found whole or not at all, keeps its limits, and changes them for all at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/atomic.h"
#include "store/liveness.h"

#include "fixture.h"

#define CREATORS 24
#define ROUNDS 20
#define MEETINGS 300    /* the first few were enough to show it */
#define SETTLE_US 50000 /* a remover that does not wait is done by then */

static unsigned count_descriptors(void)
{
        unsigned count = 0;

        for (int fd = 0; fd < 1024; fd++)
                count += fcntl(fd, F_GETFD) >= 0;
        return count;
}

static void test_what_was_made_is_what_is_found(void **state)
{
        struct store_request request = request_of("s1");
        unsigned open_before = count_descriptors();
        struct store_session made, joined;
        struct stat st;

        assert_int_equal(store_join(&store, "s1", false, &joined, NULL), -ENOENT);
        assert_int_equal(store_create(&store, &request, &made, NULL), 0);
        assert_int_equal(store_join(&store, "s1", false, &joined, NULL), 0);
        assert_string_equal(joined.limits->name, "s1");
        assert_string_equal(joined.limits->created_as, request.created_as);
        assert_int_equal(joined.limits->device[0].limit_bytes, 4 * GIB);
        assert_int_equal(joined.limits->device[1].limit_bytes, 8 * GIB);
        assert_memory_equal(joined.limits->device[1].uuid, two_gpus.device[1].uuid, 16);
        assert_int_equal(joined.slots_file.inode, made.slots_file.inode);
        /* One page for both: what one writes the other reads. */
        made.slots->ledger[3].used_bytes = 77;
        assert_int_equal(joined.slots->ledger[3].used_bytes, 77);
        assert_int_equal(store_create(&store, &request, &made, NULL), -EEXIST);

        /* Private to the user, and almost nothing of it takes memory. */
        assert_int_equal(stat(path_of("s1", "slots"), &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
        assert_int_equal(st.st_size, sizeof(struct slots_page));
        assert_true(st.st_blocks * 512 <= 16384);
        assert_int_equal(stat(path_of("s1", ""), &st), 0);
        assert_int_equal(st.st_mode & 0777, 0700);
        store_close(&joined);
        assert_int_equal(count_descriptors(), open_before);
}

/* Whatever umask takes: a folder without x would shut out its own user. */
static void test_umask_has_no_say(void **state)
{
        static const mode_t masks[] = { 0100, 0177, 0777 };
        static const char *const made[] = { "", "/sessions", "/sessions/s" };
        const struct store outer = store;

        for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
                char path[2 * STORE_PATH_BYTES];
                struct stat st;
                mode_t before;

                snprintf(store.path, sizeof(store.path), "%.64s/%zu", outer.path, i);
                before = umask(masks[i]);
                make("s");
                umask(before);
                for (size_t j = 0; j < sizeof(made) / sizeof(made[0]); j++) {
                        snprintf(path, sizeof(path), "%s%s", store.path, made[j]);
                        assert_int_equal(stat(path, &st), 0);
                        assert_int_equal(st.st_mode & 07777, 0700);
                }
                assert_int_equal(stat(path_of("s", "slots"), &st), 0);
                assert_int_equal(st.st_mode & 07777, 0600);
        }
        store = outer;
}

/* Of many who come at once one makes it, and all find the same. */
static void test_two_creators_race(void **state)
{
        for (unsigned round = 0; round < ROUNDS; round++) {
                int start[2], answers[2];
                char name[16];
                unsigned makers = 0;
                uint64_t first[2] = { 0 };

                snprintf(name, sizeof(name), "race%u", round);
                assert_int_equal(pipe(start), 0);
                assert_int_equal(pipe(answers), 0);
                for (unsigned i = 0; i < CREATORS; i++) {
                        if (fork() == 0) {
                                struct store_request request = request_of(name);
                                struct store_session session;
                                uint64_t answer[3];
                                char go;

                                close(start[1]);
                                if (read(start[0], &go, 1) < 0)
                                        _exit(1);
                                int rc = store_create(&store, &request, &session, NULL);

                                if (rc == -EEXIST)
                                        rc = store_join(&store, name, false, &session, NULL) < 0
                                                     ? -1
                                                     : 1;
                                if (rc < 0)
                                        _exit(1);
                                answer[0] = rc == 0;
                                memcpy(&answer[1], session.limits->session_id, 16);
                                _exit(write(answers[1], answer, sizeof(answer)) != sizeof(answer));
                        }
                }
                close(start[0]);
                close(start[1]); /* go */
                for (unsigned i = 0; i < CREATORS; i++) {
                        uint64_t answer[3];
                        int status;

                        assert_true(wait(&status) > 0);
                        assert_int_equal(status, 0);
                        assert_int_equal(read(answers[0], answer, sizeof(answer)), sizeof(answer));
                        makers += (unsigned)answer[0];
                        if (i == 0)
                                memcpy(first, &answer[1], 16);
                        assert_memory_equal(&answer[1], first, 16);
                }
                assert_int_equal(makers, 1);
                close(answers[0]);
                close(answers[1]);
        }
}

static int count_names(const char *name, void *context)
{
        ++*(unsigned *)context;
        return 0;
}

/* A maker that dies on the way leaves no session. */
static void test_half_a_session_is_none(void **state)
{
        char path[2 * STORE_PATH_BYTES];
        unsigned count = 0;

        make("whole");
        snprintf(path, sizeof(path), "%s", path_of(".new-0123456789abcdef", ""));
        assert_int_equal(mkdir(path, 0700), 0);
        assert_int_equal(store_list(&store, count_names, &count, NULL), 0);
        assert_int_equal(count, 1);
        /* It may still be at work; when it is old it is cleared away. */
        assert_int_equal(access(path, F_OK), 0);
        assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[2]){ { 0 } }, 0), 0);
        assert_int_equal(store_list(&store, count_names, &count, NULL), 0);
        assert_int_equal(access(path, F_OK), -1);
}

static void test_fresh_names_differ(void **state)
{
        char a[PAGE_NAME_BYTES], b[PAGE_NAME_BYTES];

        assert_int_equal(store_fresh_name(a, NULL), 0);
        assert_int_equal(store_fresh_name(b, NULL), 0);
        assert_string_not_equal(a, b);
        assert_int_equal(settings_check_name("", a, NULL), 0);
}

/* Joining with other limits is refused, never merged; with the same, or with none, it is not. */
static void test_same_and_other_limits(void **state)
{
        struct store_request request = request_of("same");
        struct settings_limits other = two_gpus;
        struct store_session session;
        struct error err;

        assert_int_equal(store_create(&store, &request, &session, NULL), 0);
        assert_int_equal(store_check_same(&session, &request, NULL), 0);
        /* Other words for the same bytes. */
        request.created_as = "memory=4294967296,GPU-02=8589934592";
        assert_int_equal(store_check_same(&session, &request, NULL), 0);
        other.device[1].limit_bytes = 7 * GIB;
        request.limits = &other;
        assert_int_equal(store_check_same(&session, &request, &err), -EEXIST);
        assert_non_null(strstr(err.text, "memory=4294967296,1=8589934592"));
        other = two_gpus;
        other.default_bytes = 5 * GIB;
        /* A default that no GPU here falls under says nothing; without GPUs it says all. */
        assert_int_equal(store_check_same(&session, &request, NULL), 0);
        other.count = 0;
        assert_int_equal(store_check_same(&session, &request, NULL), -EEXIST);
        request.limits = NULL;
        assert_int_equal(store_check_same(&session, &request, NULL), -EEXIST);
        request.limits = &two_gpus;
        request.flags = PAGE_CONTEXT_FREE;
        assert_int_equal(store_check_same(&session, &request, NULL), -EEXIST);
        request.flags = 0;
        request.device_name = "Another";
        assert_int_equal(store_check_same(&session, &request, NULL), -EEXIST);
        store_close(&session);
}

static void test_changing_limits_live(void **state)
{
        struct store_request request = request_of("live");
        struct settings_limits change = { .count = 1 };
        struct store_session owner, tenant;
        uint32_t epoch;

        assert_int_equal(store_create(&store, &request, &owner, NULL), 0);
        assert_int_equal(store_join(&store, "live", false, &tenant, NULL), 0);
        epoch = tenant.limits->epoch;

        /* One GPU: the other keeps its limit, and so does the default. */
        change.device[0] = two_gpus.device[1];
        change.device[0].limit_bytes = 2 * GIB;
        assert_int_equal(store_set(&owner, &change, NULL), 0);
        assert_int_equal(tenant.limits->device[1].limit_bytes, 2 * GIB);
        assert_int_equal(tenant.limits->device[0].limit_bytes, 4 * GIB);
        assert_int_equal(tenant.limits->default_limit_bytes, 4 * GIB);
        assert_int_not_equal(tenant.limits->epoch, epoch);

        /* All of them. */
        change = (struct settings_limits){ .has_default = true, .default_bytes = 3 * GIB };
        assert_int_equal(store_set(&owner, &change, NULL), 0);
        assert_int_equal(tenant.limits->device[0].limit_bytes, 3 * GIB);
        assert_int_equal(tenant.limits->device[1].limit_bytes, 3 * GIB);
        assert_int_equal(tenant.limits->default_limit_bytes, 3 * GIB);

        /* A part of each card, also of those to come. */
        change = (struct settings_limits){ .has_default = true,
                                           .default_bytes = PAGE_UNLIMITED,
                                           .default_micro_percent = 25000000 };
        assert_int_equal(store_set(&owner, &change, NULL), 0);
        assert_int_equal(tenant.limits->device[0].limit_bytes, 4 * GIB);
        assert_int_equal(store_claim_row(&tenant, (uint8_t[16]){ 9 }, 8 * GIB, NULL), 2);
        assert_int_equal(tenant.limits->device[2].limit_bytes, 2 * GIB);

        /* More than a card has: nothing changes at all. */
        epoch = tenant.limits->epoch;
        change = (struct settings_limits){ .has_default = true, .default_bytes = 9 * GIB };
        assert_true(store_set(&owner, &change, NULL) < 0);
        assert_int_equal(tenant.limits->device[0].limit_bytes, 4 * GIB);
        assert_int_equal(tenant.limits->epoch, epoch);
        /* The tenant's own mapping is for reading. */
        assert_int_equal(store_set(&tenant, &change, NULL), -EPERM);
        store_close(&owner);
        store_close(&tenant);
}

/* Caps on compute go their own way beside memory: either can be changed alone. */
static void test_changing_caps_live(void **state)
{
        struct store_request request = request_of("caps");
        struct settings_limits change = { .count = 1 }, capped = two_gpus;
        struct store_session owner, tenant;
        struct error err;

        capped.default_cap_ppm = capped.device[0].cap_ppm = capped.device[1].cap_ppm = 300000;
        request.limits = &capped;
        assert_int_equal(store_create(&store, &request, &owner, NULL), 0);
        assert_int_equal(store_join(&store, "caps", false, &tenant, NULL), 0);
        assert_int_equal(tenant.limits->device[1].cap_ppm, 300000);

        change.device[0] = capped.device[1];
        change.device[0].is_named = false;
        change.device[0].is_cap_named = true;
        change.device[0].cap_ppm = 500000;
        assert_int_equal(store_set(&owner, &change, NULL), 0);
        assert_int_equal(tenant.limits->device[0].cap_ppm, 300000);
        assert_int_equal(tenant.limits->device[1].cap_ppm, 500000);
        assert_int_equal(tenant.limits->device[1].limit_bytes, 8 * GIB);
        assert_int_equal(store_check_same(&owner, &request, &err), 0); /* its own words */
        request.created_as = "other words";
        assert_int_equal(store_check_same(&owner, &request, &err), -EEXIST);
        assert_non_null(strstr(err.text, ";compute=30%,GPU-"));

        change = (struct settings_limits){ .has_default_cap = true,
                                           .default_cap_ppm = PAGE_WHOLE_PPM };
        assert_int_equal(store_set(&owner, &change, NULL), 0);
        assert_int_equal(tenant.limits->device[0].cap_ppm, PAGE_WHOLE_PPM);
        assert_int_equal(tenant.limits->device[1].cap_ppm, PAGE_WHOLE_PPM);
        assert_int_equal(tenant.limits->device[0].limit_bytes, 4 * GIB);
        change.default_cap_ppm = 250000;
        assert_int_equal(store_set(&owner, &change, NULL), 0);
        assert_int_equal(store_claim_row(&tenant, (uint8_t[16]){ 9 }, 8 * GIB, NULL), 2);
        assert_int_equal(tenant.limits->device[2].cap_ppm, 250000);
        store_close(&owner);
        store_close(&tenant);
}

/* GPUs that the maker could not see get rows when they are used: one each, whoever comes first. */
static void test_rows_for_gpus_that_show_up(void **state)
{
        struct store_session session;

        make("rows");
        assert_int_equal(store_join(&store, "rows", false, &session, NULL), 0);
        assert_int_equal(store_claim_row(&session, two_gpus.device[1].uuid, 16 * GIB, NULL), 1);
        assert_int_equal(store_claim_row(&session, (uint8_t[16]){ 0 }, GIB, NULL), -EINVAL);
        for (int i = 0; i < CREATORS; i++) {
                if (fork() == 0) {
                        for (uint8_t gpu = 10; gpu < 20; gpu++) {
                                uint8_t uuid[16] = { [15] = (uint8_t)(10 + (gpu + i) % 10) };

                                if (store_claim_row(&session, uuid, 16 * GIB, NULL) < 2)
                                        _exit(1);
                        }
                        _exit(0);
                }
        }
        for (int i = 0; i < CREATORS; i++) {
                int status;

                assert_true(wait(&status) > 0);
                assert_int_equal(status, 0);
        }
        for (unsigned i = 2; i < 12; i++) {
                assert_int_equal(session.limits->device[i].limit_bytes, 4 * GIB);
                assert_int_equal(session.limits->device[i].card_bytes, 16 * GIB);
                for (unsigned j = 0; j < i; j++)
                        assert_memory_not_equal(session.limits->device[i].uuid,
                                                session.limits->device[j].uuid, 16);
        }
        assert_int_equal(session.limits->device[12].limit_bytes, 0);
        /* A limit that the card cannot hold is no limit. */
        assert_int_equal(store_claim_row(&session, (uint8_t[16]){ 77 }, 2 * GIB, NULL), -ERANGE);
        for (uint8_t gpu = 100; gpu < 104; gpu++)
                assert_true(store_claim_row(&session, (uint8_t[16]){ gpu }, 16 * GIB, NULL) >= 0);
        assert_int_equal(store_claim_row(&session, (uint8_t[16]){ 200 }, 16 * GIB, NULL), -ENOSPC);
        store_close(&session);
}

/* Two threads of one story, let go at the same moment. */
static struct {
        struct store_session session;
        const struct settings_limits *limits;
        _Atomic unsigned ready;
        unsigned rows;
} meeting;

static void meet(void)
{
        add_acq_rel(&meeting.ready, 1);
        while (load_acquire(&meeting.ready) < 2)
                ;
}

static void *claim_rows(void *unused)
{
        meet();
        for (uint8_t gpu = 1; gpu <= meeting.rows; gpu++)
                if (store_claim_row(&meeting.session, (uint8_t[16]){ gpu }, 16 * GIB, NULL) < 0)
                        return meeting.session.limits;
        return NULL;
}

/* Changes the default while GPUs show up: every row is to have the new one in the end. */
static void change_while_rows_are_claimed(const struct settings_limits *from,
                                          const struct settings_limits *to)
{
        struct store_request request = request_of("meet");
        uint64_t expected;
        pthread_t claimer;
        void *failed;

        request.limits = from;
        assert_int_equal(store_create(&store, &request, &meeting.session, NULL), 0);
        store_release(&meeting.ready, 0);
        meeting.rows = 14;
        assert_int_equal(pthread_create(&claimer, NULL, claim_rows, NULL), 0);
        meet();
        assert_int_equal(store_set(&meeting.session, to, NULL), 0);
        pthread_join(claimer, &failed);
        assert_null(failed);
        assert_int_equal(settings_resolve_default(to, 16 * GIB, &expected, NULL), 0);
        for (unsigned i = 0; i < meeting.rows; i++)
                assert_int_equal(meeting.session.limits->device[i].limit_bytes, expected);
        store_close(&meeting.session);
        assert_int_equal(store_remove(&store, "meet", false, NULL), 0);
}

static void test_no_row_keeps_a_default_that_is_over(void **state)
{
        static const struct settings_limits half = { .has_default = true,
                                                     .default_bytes = PAGE_UNLIMITED,
                                                     .default_micro_percent = 50000000 };
        static const struct settings_limits four = { .has_default = true,
                                                     .default_bytes = 4 * GIB };

        for (unsigned round = 0; round < MEETINGS; round++) {
                change_while_rows_are_claimed(&half, &four);
                change_while_rows_are_claimed(&four, &half);
        }
}

/* A claimer that died between its two writes: whoever comes next finishes. */
static void test_a_row_without_its_limit(void **state)
{
        struct store_session owner;

        make("half");
        assert_int_equal(store_join(&store, "half", true, &owner, NULL), 0);
        memcpy(owner.limits->device[2].uuid, (uint8_t[16]){ 5, 5 }, 16);
        assert_int_equal(store_claim_row(&owner, (uint8_t[16]){ 5, 5 }, 16 * GIB, NULL), 2);
        assert_int_equal(owner.limits->device[2].limit_bytes, 4 * GIB);
        store_close(&owner);
}

static void test_removing(void **state)
{
        struct liveness_file file = { .path = path_of("used", "slots") };
        struct store_session session;
        struct error err;
        void *pin;

        assert_int_equal(store_remove(&store, "none", false, NULL), -ENOENT);
        make("used");
        assert_int_equal(store_join(&store, "used", false, &session, NULL), 0);
        file.device = session.slots_file.device;
        file.inode = session.slots_file.inode;
        assert_int_equal(liveness_lock(&file, PAGE_LOCK_LIVE(0), &pin), 0);
        assert_int_equal(store_is_live(&session, NULL), 1);
        assert_int_equal(store_remove(&store, "used", false, &err), -EBUSY);
        assert_non_null(strstr(err.text, "--force"));
        /* Refused means unchanged: others can still join and charge. */
        assert_true(store_is_current(&session));
        expect_refused("nobody", -ENOENT, "nobody");
        liveness_unlock(pin);
        assert_int_equal(store_is_live(&session, NULL), 0);
        assert_int_equal(store_remove(&store, "used", false, NULL), 0);
        /* Who had it mapped can see that it is over. */
        assert_false(store_is_current(&session));
        expect_refused("used", -ENOENT, "used");
        store_close(&session);

        make("forced");
        assert_int_equal(store_join(&store, "forced", false, &session, NULL), 0);
        assert_int_equal(store_remove(&store, "forced", true, NULL), 0);
        assert_false(store_is_current(&session));
        store_close(&session);
}

/* What lies in a broken session's folder goes with it; what a link in it names stays. */
static void test_removing_what_is_broken(void **state)
{
        make("bystander");
        make("broken");
        assert_int_equal(unlink(path_of("broken", "slots")), 0);
        assert_int_equal(mkdir(path_of("broken", "slots"), 0700), 0);
        assert_int_equal(mkdir(path_of("broken", "slots/deeper"), 0700), 0);
        assert_int_equal(symlink("../bystander", path_of("broken", "link")), 0);
        assert_int_equal(symlink("../../../bystander/limits", path_of("broken", "slots/link")), 0);
        assert_true(store_remove(&store, "broken", false, NULL) < 0);
        assert_int_equal(access(path_of("broken", "slots/deeper"), F_OK), 0);
        assert_int_equal(store_remove(&store, "broken", true, NULL), 0);
        assert_int_equal(rmdir(path_of("", "")), -1);
        assert_int_equal(store_remove(&store, "bystander", false, NULL), 0);
        /* Not a trace of either. */
        assert_int_equal(rmdir(path_of("", "")), 0);
}

/* A remover that died half way: nobody joins, and the next remover finishes. */
static void test_a_removal_that_was_not_finished(void **state)
{
        struct store_session session;

        make("dying");
        assert_int_equal(store_join(&store, "dying", true, &session, NULL), 0);
        session.limits->removed = 1;
        store_close(&session);
        expect_refused("dying", -EBUSY, "being removed");
        assert_int_equal(store_remove(&store, "dying", false, NULL), 0);
        expect_refused("dying", -ENOENT, "dying");
}

static void *remove_it(void *unused)
{
        return (void *)(intptr_t)store_remove(&store, "turns", false, NULL);
}

/* A second remover would rename away what was made under the same name since. */
static void test_removers_take_turns(void **state)
{
        struct store_session session;
        pthread_t remover;
        void *rc;
        int sessions;

        make("turns");
        sessions = open(path_of("", ""), O_RDONLY | O_DIRECTORY);
        assert_int_equal(flock(sessions, LOCK_EX), 0); /* as somebody who is at it */
        assert_int_equal(pthread_create(&remover, NULL, remove_it, NULL), 0);
        usleep(SETTLE_US);
        assert_int_equal(store_join(&store, "turns", false, &session, NULL), 0);
        assert_true(store_is_current(&session));
        close(sessions);
        pthread_join(remover, &rc);
        assert_int_equal((intptr_t)rc, 0);
        assert_false(store_is_current(&session));
        store_close(&session);
}

static void test_a_slot_is_backed_before_it_is_touched(void **state)
{
        struct stat before, after;
        int fd;

        make("room");
        fd = open(path_of("room", "slots"), O_RDWR);
        assert_true(fd >= 0);
        fstat(fd, &before);
        assert_int_equal(store_reserve_slot(fd, 1000, NULL), 0);
        fstat(fd, &after);
        assert_true(after.st_blocks > before.st_blocks);
        assert_int_equal(after.st_size, before.st_size);
        assert_int_equal(store_reserve_slot(fd, PAGE_SLOTS, NULL), -EINVAL);
        close(fd);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                story(test_what_was_made_is_what_is_found),
                story(test_umask_has_no_say),
                story(test_two_creators_race),
                story(test_half_a_session_is_none),
                story(test_fresh_names_differ),
                story(test_same_and_other_limits),
                story(test_changing_limits_live),
                story(test_changing_caps_live),
                story(test_rows_for_gpus_that_show_up),
                story(test_no_row_keeps_a_default_that_is_over),
                story(test_a_row_without_its_limit),
                story(test_removing),
                story(test_removing_what_is_broken),
                story(test_a_removal_that_was_not_finished),
                story(test_removers_take_turns),
                story(test_a_slot_is_backed_before_it_is_touched),
        };

        return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
