/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The socket of a session: who is let in and gets what, who is refused and why, and that nobody who
 * is slow, silent or malicious is in anybody's way.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "tenant_fixture.h"

static void expect_refused(int type, enum message_code code, const char *word)
{
        assert_int_equal(type, MESSAGE_REFUSED);
        assert_int_equal(answer.refused.code, code);
        if (!strstr(answer.refused.reason, word))
                fail_msg("'%s' is not in: %s", word, answer.refused.reason);
        assert_int_equal(limits, -1);
}

static void test_who_joins_gets_both_pages(void **state)
{
        struct limits_page page;
        uint8_t id[16];

        assert_int_equal(join("a"), MESSAGE_WELCOME);
        assert_string_equal(answer.welcome.name, "a");
        assert_int_equal(answer.welcome.page_version, PAGE_VERSION);
        assert_int_equal(read(limits, &page, sizeof(page)), sizeof(page));
        assert_int_equal(page_check_limits(&page, sizeof(page), NULL), 0);
        assert_memory_equal(page.session_id, answer.welcome.session_id, 16);
        assert_int_equal(pread(slots, id, 16, offsetof(struct slots_page, session_id)), 16);
        assert_memory_equal(page.session_id, id, 16);
        assert_int_equal(fcntl(limits, F_GETFL) & O_ACCMODE, O_RDONLY);
        assert_int_equal(fcntl(slots, F_GETFL) & O_ACCMODE, O_RDWR);
        assert_int_equal(tenants_counts(tenants)->joined, 1);
}

/* A lock on a description that two share would be both's. */
static void test_slots_is_a_description_of_the_joiners_own(void **state)
{
        struct flock lock = { .l_type = F_WRLCK, .l_len = 1 };
        int first;

        assert_int_equal(join("a"), MESSAGE_WELCOME);
        first = slots;
        slots = -1;
        assert_int_equal(join("a"), MESSAGE_WELCOME);
        assert_int_equal(fcntl(first, F_OFD_SETLK, &lock), 0);
        lock = (struct flock){ .l_type = F_WRLCK, .l_len = 1 };
        assert_int_equal(fcntl(slots, F_OFD_SETLK, &lock), -1);
        close(first);
}

static void test_limits_cannot_be_opened_for_writing_where_mounts_can_be_had(void **state)
{
        char path[64];

        if (!tenants_use_mounts(tenants)) {
                print_message("making a mount takes CAP_SYS_ADMIN\n");
                skip();
        }
        assert_int_equal(join("a"), MESSAGE_WELCOME);
        assert_true(answer.welcome.flags & MESSAGE_READ_ONLY_MOUNT);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", limits);
        assert_int_equal(open(path, O_RDWR | O_CLOEXEC), -1);
        assert_int_equal(errno, EROFS);
        assert_int_equal(fchmod(limits, 0666), -1);
        assert_ptr_equal(mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, limits, 0), MAP_FAILED);
}

static void test_the_socket_is_its_owners_alone(void **state)
{
        const struct sockaddr_un address = address_of("a");
        struct stat st;

        assert_int_equal(stat(address.sun_path, &st), 0);
        assert_int_equal(st.st_mode, S_IFSOCK | 0600);
        assert_int_equal(st.st_uid, geteuid());
}

static void test_what_is_no_hello_is_told_so(void **state)
{
        struct message_hello hello;

        expect_refused(say("a", "x", 1), MESSAGE_MALFORMED, "1 bytes");
        memset(&hello, 0xff, sizeof(hello));
        expect_refused(say("a", &hello, sizeof(hello)), MESSAGE_MALFORMED, "no message of ours");
        message_write_hello(&hello, &(struct message_wish){ .command = "test" });
        expect_refused(say("a", &hello, sizeof(hello) - 1), MESSAGE_MALFORMED, "says it has");
        hello.head.version_least = hello.head.version_most = 9;
        expect_refused(say("a", &hello, sizeof(hello)), MESSAGE_NO_VERSION, "9 to 9");
        assert_int_equal(answer.head.version_most, MESSAGE_VERSION_MAX);
        assert_int_equal(join("a"), MESSAGE_WELCOME);
}

static void test_a_message_that_is_too_long_is_none(void **state)
{
        static const char message[3 * MESSAGE_MAX];

        expect_refused(say("a", message, sizeof(message)), MESSAGE_MALFORMED, "");
}

static void test_another_session_is_not_given(void **state)
{
        static const uint8_t other[16] = { 1, 'b' }, this[16] = { 1, 'a' };

        expect_refused(join_with("a", &(struct message_wish){ .session_id = other }),
                       MESSAGE_OTHER_SESSION, "session a");
        assert_int_equal(join_with("a", &(struct message_wish){ .session_id = this }),
                         MESSAGE_WELCOME);
}

static int with_token(const char *token)
{
        return join_with("a", &(struct message_wish){ .token = token });
}

static void test_a_token_is_looked_at_where_there_is_one(void **state)
{
        struct error err = { 0 };

        assert_int_equal(with_token("whatever it may be"), MESSAGE_WELCOME);
        setenv("GPUSLICE_IPC_TOKEN", "a secret among us all", 1);
        assert_int_equal(tenants_reload(tenants, &err), -EINVAL); /* blanks */
        setenv("GPUSLICE_IPC_TOKEN", "a-secret-among-us-all", 1);
        assert_int_equal(tenants_reload(tenants, &err), 0);
        assert_int_equal(with_token(NULL), MESSAGE_WELCOME);
        drop_descriptors();
        expect_refused(with_token("a-secret-among-us-alL"), MESSAGE_BAD_TOKEN, "not the daemon's");
        expect_refused(with_token("a-secret-among-us-all-"), MESSAGE_BAD_TOKEN, "not the daemon's");
        assert_int_equal(with_token("a-secret-among-us-all"), MESSAGE_WELCOME);
        drop_descriptors();
        config.is_join_token_required = true;
        expect_refused(with_token(NULL), MESSAGE_BAD_TOKEN, "wants a token");
        assert_int_equal(with_token("a-secret-among-us-all"), MESSAGE_WELCOME);
}

/* GPU Slice's own examples: it takes any token, and an empty one for none. */
static void test_a_token_of_gpu_slice_is_good_however_short(void **state)
{
        setenv("GPUSLICE_IPC_TOKEN", "", 1);
        assert_int_equal(tenants_reload(tenants, NULL), 0);
        assert_int_equal(with_token("anything"), MESSAGE_WELCOME);
        drop_descriptors();
        setenv("GPUSLICE_IPC_TOKEN", "change-me", 1);
        assert_int_equal(tenants_reload(tenants, NULL), 0);
        expect_refused(with_token("change-mE"), MESSAGE_BAD_TOKEN, "not the daemon's");
        assert_int_equal(with_token("change-me"), MESSAGE_WELCOME);
}

static void test_who_says_nothing_is_not_waited_for(void **state)
{
        int fd;

        config.join_timeout_ns = 100000000;
        fd = connect_to("a");
        assert_int_equal(hear(fd), -1);
        close(fd);
        assert_int_equal(tenants_counts(tenants)->silent, 1);
        assert_int_equal(tenants_counts(tenants)->connections, 0);
}

static void test_of_a_crowd_that_says_nothing_the_oldest_makes_room(void **state)
{
        int crowd[8];

        config.join_session_connections_max = 4;
        for (unsigned i = 0; i < 8; i++) {
                crowd[i] = connect_to("a");
                turn();
        }
        assert_int_equal(tenants_counts(tenants)->connections, 4);
        assert_int_equal(join("a"), MESSAGE_WELCOME);
        assert_int_equal(hear(crowd[0]), -1);
        for (unsigned i = 0; i < 8; i++)
                close(crowd[i]);
        turn();
        assert_int_equal(tenants_counts(tenants)->connections, 0);
}

static void test_too_many_joins_are_told_when_to_come_again(void **state)
{
        config.join_rate_per_second = 1;
        config.join_rate_burst = 3;
        for (unsigned i = 0; i < 3; i++)
                assert_int_equal(join("a"), MESSAGE_WELCOME);
        drop_descriptors();
        expect_refused(join("a"), MESSAGE_TOO_MANY, "more than 1 joins a second");
        assert_in_range(answer.refused.retry_ms, 1, 1001);
        /* Guesses count too. */
        expect_refused(say("a", "x", 1), MESSAGE_TOO_MANY, "");
}

/* Many containers are root: what one of them uses up is not another's. */
static void test_what_one_session_uses_up_is_its_own(void **state)
{
        config.join_rate_per_second = 1;
        config.join_rate_burst = 1;
        create("b");
        assert_int_equal(join("a"), MESSAGE_WELCOME);
        drop_descriptors();
        expect_refused(join("a"), MESSAGE_TOO_MANY, "");
        assert_int_equal(join("b"), MESSAGE_WELCOME);
}

static void test_a_socket_comes_and_goes_with_its_session(void **state)
{
        assert_int_equal(connect_to("b"), -ENOENT);
        create("b");
        assert_int_equal(join("b"), MESSAGE_WELCOME);
        assert_string_equal(answer.welcome.name, "b");
        step(&(struct sessions_event){ .type = SESSIONS_RELEASE, .name = "b", .is_admin = true });
        assert_int_equal(connect_to("b"), -ENOENT);
        assert_int_equal(join("a"), MESSAGE_WELCOME);
}

static void test_a_name_made_anew_is_another_socket(void **state)
{
        assert_int_equal(join("a"), MESSAGE_WELCOME);
        step(&(struct sessions_event){ .type = SESSIONS_RELEASE, .name = "a", .is_admin = true });
        create("a");
        assert_int_equal(join("a"), MESSAGE_WELCOME);
}

static void test_the_next_daemon_listens_again(void **state)
{
        char left[STORE_PATH_BYTES];

        tenants_stop(tenants);
        assert_int_equal(connect_to("a"), -ECONNREFUSED); /* which says: wait */
        snprintf(left, sizeof(left), "%.64s/sessions/a/.socket", store.path);
        assert_int_equal(mknod(left, S_IFSOCK | 0600, 0), 0); /* of one that was killed */
        open_tenants();
        assert_int_equal(join("a"), MESSAGE_WELCOME);
}

/* The oldest makes room: it is heard at once, and not again when its turn comes. */
static void test_who_is_heard_before_its_turn_is_answered_once(void **state)
{
        char message[MESSAGE_MAX];
        size_t bytes = message_write_hello(message, &(struct message_wish){ .command = "test" });
        int first, second;

        config.join_session_connections_max = 1;
        first = connect_to("a");
        turn();
        assert_int_equal(send(first, message, bytes, MSG_NOSIGNAL), (ssize_t)bytes);
        assert_int_equal(send(first, message, bytes, MSG_NOSIGNAL), (ssize_t)bytes);
        second = connect_to("a");
        turn();
        turn();
        assert_int_equal(tenants_counts(tenants)->joined, 1);
        close(first);
        close(second);
}

#define CROWD_UID 64001u
#define STEPS_MAX 64u

/* One who says nothing of use and is gone. */
static void knock(const char *name)
{
        int fd = connect_to(name);

        assert_true(fd >= 0);
        assert_int_equal(send(fd, "x", 1, MSG_NOSIGNAL), 1);
        close(fd);
}

static void knock_at_all(uint32_t owner_uid, unsigned sockets, unsigned knocks)
{
        char name[8];

        config.join_rate_per_second = 0;
        for (unsigned i = 0; i < sockets; i++) {
                snprintf(name, sizeof(name), "s%u", i);
                create_for(name, owner_uid);
                for (unsigned j = 0; j < knocks; j++)
                        knock(name);
        }
}

static unsigned knocks_heard(void)
{
        return (unsigned)tenants_counts(tenants)->refused[MESSAGE_MALFORMED];
}

/* However many sockets are knocked at, the daemon comes back to its other work. */
static void test_a_turn_of_the_loop_hears_a_bounded_number_for_all_sockets(void **state)
{
        const unsigned sockets = 8, knocks = 100;

        knock_at_all(geteuid(), sockets, knocks);
        for (unsigned before = 0; before < sockets * knocks; before = knocks_heard()) {
                assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
                assert_in_range(knocks_heard(), before, before + STEPS_MAX);
        }
}

#define NEVER_SECONDS 10

static void on_never(evutil_socket_t fd, short what, void *context)
{
        *(bool *)context = true;
}

/* All wait when the first is heard; the other owner's comes first or second, and not last. */
static void test_who_knocks_at_many_sockets_delays_another_owner_by_a_few(void **state)
{
        char message[MESSAGE_MAX];
        size_t bytes = message_write_hello(message, &(struct message_wish){ .command = "test" });
        const struct timeval never = { .tv_sec = NEVER_SECONDS };
        bool is_never = false;
        unsigned turns = 0;
        int fd;

        if (geteuid() != 0) {
                print_message("only root can make a session for another user\n");
                skip();
        }
        knock_at_all(CROWD_UID, 2 * STEPS_MAX, 2);
        fd = connect_to("a");
        assert_int_equal(send(fd, message, bytes, MSG_NOSIGNAL), (ssize_t)bytes);
        event_base_once(base, -1, EV_TIMEOUT, on_never, &is_never, &never);
        while (!tenants_counts(tenants)->joined && !is_never) {
                turns += knocks_heard() > 0;
                assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
        }
        assert_false(is_never);
        assert_in_range(turns, 0, 1);
        close(fd);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                story(test_who_joins_gets_both_pages),
                story(test_slots_is_a_description_of_the_joiners_own),
                story(test_limits_cannot_be_opened_for_writing_where_mounts_can_be_had),
                story(test_the_socket_is_its_owners_alone),
                story(test_what_is_no_hello_is_told_so),
                story(test_a_message_that_is_too_long_is_none),
                story(test_another_session_is_not_given),
                story(test_a_token_is_looked_at_where_there_is_one),
                story(test_a_token_of_gpu_slice_is_good_however_short),
                story(test_who_says_nothing_is_not_waited_for),
                story(test_of_a_crowd_that_says_nothing_the_oldest_makes_room),
                story(test_too_many_joins_are_told_when_to_come_again),
                story(test_what_one_session_uses_up_is_its_own),
                story(test_a_socket_comes_and_goes_with_its_session),
                story(test_a_name_made_anew_is_another_socket),
                story(test_the_next_daemon_listens_again),
                story(test_who_is_heard_before_its_turn_is_answered_once),
                story(test_a_turn_of_the_loop_hears_a_bounded_number_for_all_sockets),
                story(test_who_knocks_at_many_sockets_delays_another_owner_by_a_few),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
