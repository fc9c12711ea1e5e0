/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session is found whole or not at all, by everybody the same, and keeps what it was made with.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "fixture.h"

#include "settings/settings.h"

#define CREATORS 24
#define ROUNDS 20

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

/* What a creator has: whether it made the session, and which one it is in. */
struct answer {
        uint64_t is_maker;
        uint8_t session_id[16];
};

static struct answer make_or_join(const char *name)
{
        struct store_request request = request_of(name);
        struct store_session session;
        struct answer answer;
        int rc = store_create(&store, &request, &session, NULL);

        answer.is_maker = rc == 0;
        if (rc == -EEXIST)
                rc = store_join(&store, name, false, &session, NULL);
        if (rc < 0)
                _exit(1);
        memcpy(answer.session_id, session.limits->session_id, sizeof(answer.session_id));
        return answer;
}

/* At once: when nobody holds the other end of `start` any more. */
static void start_creators(const char *name, const int start[2], int answers)
{
        for (unsigned i = 0; i < CREATORS; i++) {
                struct answer answer;
                char go;

                if (fork() != 0)
                        continue;
                close(start[1]);
                if (read(start[0], &go, 1) < 0)
                        _exit(1);
                answer = make_or_join(name);
                _exit(write(answers, &answer, sizeof(answer)) != sizeof(answer));
        }
}

static void expect_one_maker(int answers)
{
        struct answer first, answer;
        unsigned makers = 0;

        for (unsigned i = 0; i < CREATORS; i++) {
                int status;

                assert_true(wait(&status) > 0);
                assert_int_equal(status, 0);
                assert_int_equal(read(answers, &answer, sizeof(answer)), sizeof(answer));
                makers += (unsigned)answer.is_maker;
                if (i == 0)
                        first = answer;
                assert_memory_equal(answer.session_id, first.session_id, sizeof(first.session_id));
        }
        assert_int_equal(makers, 1);
}

/* Of many who come at once one makes it, and all find the same. */
static void test_two_creators_race(void **state)
{
        for (unsigned round = 0; round < ROUNDS; round++) {
                int start[2], answers[2];
                char name[16];

                snprintf(name, sizeof(name), "race%u", round);
                assert_int_equal(pipe(start), 0);
                assert_int_equal(pipe(answers), 0);
                start_creators(name, start, answers[1]);
                close(start[0]);
                close(start[1]); /* go */
                expect_one_maker(answers[0]);
                close(answers[0]);
                close(answers[1]);
        }
}

static int count_names(const char *name, void *context)
{
        ++*(unsigned *)context;
        return 0;
}

static int count_and_refuse(const char *name, void *context)
{
        count_names(name, context);
        return -ECANCELED;
}

static void test_a_listing_ends_where_its_listener_says(void **state)
{
        unsigned count = 0;

        make("a");
        make("b");
        assert_int_equal(store_list(&store, count_and_refuse, &count, NULL), -ECANCELED);
        assert_int_equal(count, 1);
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
        assert_non_null(strstr(err.text, "memory=4GiB,1=8GiB"));
        other = two_gpus;
        other.default_bytes = 5 * GIB;
        /* A default that no GPU here falls under says nothing; without GPUs it says all. */
        assert_int_equal(store_check_same(&session, &request, NULL), 0);
        other.count = 0;
        assert_int_equal(store_check_same(&session, &request, NULL), -EEXIST);
        other.default_bytes = 4 * GIB;
        assert_int_equal(store_check_same(&session, &request, NULL), 0);
        other.default_cap_ppm = 300000;
        assert_int_equal(store_check_same(&session, &request, NULL), -EEXIST);
        other.default_cap_ppm = 0;
        other.default_micro_percent = 25000000;
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
                story(test_a_listing_ends_where_its_listener_says),
                story(test_half_a_session_is_none),
                story(test_fresh_names_differ),
                story(test_same_and_other_limits),
                story(test_a_slot_is_backed_before_it_is_touched),
        };

        return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
