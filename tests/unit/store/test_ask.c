/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking at a session's socket, where anything may listen: what is not a whole and right answer is
 * refused with its reason, nothing is waited for beyond the time that was given, and no descriptor
 * stays behind.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "common/scoped.h"
#include "proto/message.h"
#include "store/ask.h"

#include "fixture.h"

#define MIN_NS UINT64_C(100000000)
#define LONG_NS UINT64_C(20000000000)

static struct sockaddr_un address;
static int listener;
static pid_t daemon_pid;
static struct error err;

/* -- A daemon that does as it is told --------------------------------------------------------- */

static const uint8_t id[16] = { 5, 6, 7 };
static int pages[2]; /* of a session that is as it should be */

static void make_pages(void)
{
        struct store_request request = request_of("a");
        struct store_session session;
        const struct store_tenancy tenancy = { .id = { 5, 6, 7 }, .uid = geteuid() };

        request.tenancy = &tenancy;
        assert_int_equal(store_create(&store, &request, &session, NULL), 0);
        store_close(&session);
        pages[0] = open(path_of("a", "limits"), O_RDONLY | O_CLOEXEC);
        pages[1] = open(path_of("a", "slots"), O_RDWR | O_CLOEXEC);
        assert_true(pages[0] >= 0 && pages[1] >= 0);
}

static void answer(int peer, const void *message, size_t bytes, const int *fds, unsigned count)
{
        union {
                struct cmsghdr head;
                char room[CMSG_SPACE(16 * sizeof(int))];
        } control = { 0 };
        struct iovec part = { (void *)message, bytes };
        struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };

        if (count) {
                header.msg_control = &control;
                header.msg_controllen = CMSG_SPACE(count * sizeof(int));
                control.head.cmsg_len = CMSG_LEN(count * sizeof(int));
                control.head.cmsg_level = SOL_SOCKET;
                control.head.cmsg_type = SCM_RIGHTS;
                memcpy(CMSG_DATA(&control.head), fds, count * sizeof(int));
        }
        if (sendmsg(peer, &header, MSG_NOSIGNAL) < 0)
                _exit(1);
}

static void welcome_with(int peer, const int *fds, unsigned count)
{
        struct message_welcome welcome;

        message_write_welcome(&welcome, 1, id, "a", 0);
        answer(peer, &welcome, sizeof(welcome), fds, count);
}

static void refuse(int peer, enum message_code code, uint32_t retry_ms)
{
        struct message_refused refused;

        message_write_refused(&refused, 1, code, retry_ms, "for a reason");
        answer(peer, &refused, sizeof(refused), NULL, 0);
}

typedef void behaviour(int peer, unsigned number);

/* Hears each HELLO, and then behaves. */
static void serve(behaviour *behave)
{
        daemon_pid = fork();
        assert_true(daemon_pid >= 0);
        for (unsigned number = 0; daemon_pid == 0; number++) {
                struct message_asked asked;
                char message[MESSAGE_MAX];
                int peer = accept(listener, NULL, NULL);
                ssize_t got = recv(peer, message, sizeof(message), 0);

                if (got < 0 || message_read_hello(message, (size_t)got, &asked, NULL) != 0)
                        _exit(1);
                behave(peer, number);
                close(peer);
        }
}

static int raise_stage(void **state)
{
        int rc = fresh_folder(state);

        make_pages();
        address = (struct sockaddr_un){ .sun_family = AF_UNIX };
        snprintf(address.sun_path, sizeof(address.sun_path), "%.64s/socket", store.path);
        listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
        assert_int_equal(listen(listener, 8), 0);
        memset(&err, 0, sizeof(err));
        daemon_pid = 0;
        return rc;
}

static int strike_stage(void **state)
{
        if (daemon_pid > 0) {
                kill(daemon_pid, SIGKILL);
                waitpid(daemon_pid, NULL, 0);
        }
        close(listener);
        close(pages[0]);
        close(pages[1]);
        return drop_folder(state);
}

/* -- Asking ----------------------------------------------------------------------------------- */

static unsigned open_descriptors(void)
{
        scoped_dir DIR *folder = opendir("/proc/self/fd");
        unsigned count = 0;

        while (readdir(folder))
                count++;
        return count;
}

static struct ask ask_for(uint64_t wait_ns)
{
        return (struct ask){ .path = address.sun_path, .wait_ns = wait_ns, .is_found = true };
}

static void expect_failure(uint64_t wait_ns, int code, const char *word)
{
        const struct ask ask = ask_for(wait_ns);
        unsigned before = open_descriptors();
        struct store_session session;
        int slots = -7;

        errno = ENOTTY;
        assert_int_equal(ask_join(&ask, &session, &slots, &err), code);
        if (!strstr(err.text, word))
                fail_msg("'%s' is not in: %s", word, err.text);
        assert_non_null(strstr(err.text, address.sun_path));
        assert_int_equal(slots, -7);
        assert_int_equal(open_descriptors(), before);
}

static void let_in(int peer, unsigned number)
{
        welcome_with(peer, pages, 2);
}

static void test_a_right_answer_is_a_session(void **state)
{
        const struct ask ask = ask_for(LONG_NS);
        unsigned before = open_descriptors();
        struct store_session session;
        int slots;

        serve(let_in);
        errno = ENOTTY;
        assert_int_equal(ask_join(&ask, &session, &slots, &err), 0);
        assert_int_equal(errno, ENOTTY);
        assert_true(slots >= 512);
        assert_int_equal(fcntl(slots, F_GETFD), FD_CLOEXEC);
        assert_int_equal(open_descriptors(), before + 1);
        assert_string_equal(session.limits->name, "a");
        assert_false(session.is_writable);
        store_close(&session);
        close(slots);
        slots = ask_slots(&ask);
        assert_true(slots >= 512);
        close(slots);
        assert_int_equal(open_descriptors(), before);
}

static void say_nothing(int peer, unsigned number)
{
        pause();
}

static void test_silence_is_not_waited_for(void **state)
{
        serve(say_nothing);
        expect_failure(MIN_NS, -ETIMEDOUT, "does not answer");
}

static void close_at_once(int peer, unsigned number)
{
}

static void test_who_hangs_up_is_asked_again_until_the_time_is_over(void **state)
{
        serve(close_at_once);
        /* It closed the connection or, where it came too late to that, did not answer. */
        expect_failure(MIN_NS, -ETIMEDOUT, "the daemon ");
}

static void test_nobody_there_is_waited_for_and_nothing_there_is_not(void **state)
{
        shutdown(listener, SHUT_RDWR);
        close(listener);
        expect_failure(MIN_NS, -ETIMEDOUT, "no daemon listens there");
        unlink(address.sun_path);
        expect_failure(LONG_NS, -ENOENT, "No such file");
}

static void refuse_twice(int peer, unsigned number)
{
        if (number < 2)
                refuse(peer, MESSAGE_TOO_MANY, 5);
        else
                welcome_with(peer, pages, 2);
}

/* For longer than its caller waits for an answer. */
static void refuse_with_hope(int peer, unsigned number)
{
        struct message_refused refused;

        message_write_refused(&refused, 1, MESSAGE_TOO_MANY, 60, "full");
        refused.wait_ms = 60000;
        if (number < 3)
                answer(peer, &refused, sizeof(refused), NULL, 0);
        else
                welcome_with(peer, pages, 2);
}

static void test_who_is_told_how_long_there_is_hope_waits_for_as_long(void **state)
{
        const struct ask ask = ask_for(100000000);
        struct ask again = ask;
        int slots;

        serve(refuse_with_hope);
        slots = ask_slots(&ask);
        assert_true(slots >= 0);
        close(slots);

        /* Not who is in the session already: locks are held meanwhile. */
        kill(daemon_pid, SIGKILL);
        waitpid(daemon_pid, NULL, 0);
        serve(refuse_with_hope);
        again.session_id = id;
        assert_int_equal(ask_slots(&again), -ETIMEDOUT);
}

static void test_who_is_told_to_come_again_does(void **state)
{
        const struct ask ask = ask_for(LONG_NS);
        int slots;

        serve(refuse_twice);
        slots = ask_slots(&ask);
        assert_true(slots >= 0);
        close(slots);
}

static void refuse_for_good(int peer, unsigned number)
{
        refuse(peer, MESSAGE_NOT_YOURS, 0);
}

static void test_who_is_refused_says_why(void **state)
{
        serve(refuse_for_good);
        expect_failure(LONG_NS, -EPERM, "refused: for a reason");
}

static void bring_none(int peer, unsigned number)
{
        welcome_with(peer, NULL, 0);
}

static void bring_many(int peer, unsigned number)
{
        const int many[12] = { pages[0], pages[1], 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };

        welcome_with(peer, many, 12);
}

static void test_a_welcome_has_two_descriptors(void **state)
{
        serve(bring_none);
        expect_failure(LONG_NS, -EPROTO, "0 descriptors, expected 2");
}

/* As many as there is room for are put in the table, and all of these are closed. */
static void test_descriptors_that_are_too_many_are_closed(void **state)
{
        if (getenv("ALIQUOT_EMULATOR")) {
                print_message("not under qemu-user: it loses descriptors of a message\n");
                skip();
        }
        serve(bring_many);
        expect_failure(LONG_NS, -EPROTO, "descriptors, expected 2");
}

/* One, of which nothing is lost anywhere; without its fellow it is no answer. */
static void bring_one(int peer, unsigned number)
{
        welcome_with(peer, pages, 1);
}

static void test_who_asks_for_slots_alone_keeps_nothing_of_a_wrong_answer(void **state)
{
        const struct ask ask = ask_for(LONG_NS);
        unsigned before = open_descriptors();

        serve(bring_one);
        assert_int_equal(ask_slots(&ask), -EPROTO);
        assert_int_equal(open_descriptors(), before);
}

static void bring_pipes(int peer, unsigned number)
{
        int ends[2];

        if (pipe(ends) == 0)
                welcome_with(peer, ends, 2);
}

static void bring_them_swapped(int peer, unsigned number)
{
        const int swapped[2] = { pages[1], pages[0] };

        welcome_with(peer, swapped, 2);
}

static void test_descriptors_are_the_files_that_they_should_be(void **state)
{
        serve(bring_pipes);
        expect_failure(LONG_NS, -EPROTO, "limits is no plain file");
        kill(daemon_pid, SIGKILL);
        waitpid(daemon_pid, NULL, 0);
        serve(bring_them_swapped);
        expect_failure(LONG_NS, -EPROTO, "limits is");
}

static void test_a_file_that_was_cut_short_is_not_mapped(void **state)
{
        assert_int_equal(truncate(path_of("a", "slots"), 4096), 0);
        serve(let_in);
        expect_failure(LONG_NS, -EPROTO, "slots is 4096 bytes");
}

static void say_another_page_version(int peer, unsigned number)
{
        struct message_welcome welcome;

        message_write_welcome(&welcome, 1, id, "a", 0);
        welcome.page_version = PAGE_VERSION_SWAP + 1;
        answer(peer, &welcome, sizeof(welcome), pages, 2);
}

static void say_rubbish(int peer, unsigned number)
{
        answer(peer, "rubbish", 7, pages, 2);
}

static void test_what_is_no_welcome_is_refused(void **state)
{
        serve(say_rubbish);
        expect_failure(LONG_NS, -EPROTO, "a message of 7 bytes");
        kill(daemon_pid, SIGKILL);
        waitpid(daemon_pid, NULL, 0);
        serve(say_another_page_version);
        expect_failure(LONG_NS, -EPROTO, "its pages are of version");
}

static void test_a_socket_of_another_kind_is_told(void **state)
{
        close(listener);
        unlink(address.sun_path);
        listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
        assert_int_equal(listen(listener, 8), 0);
        expect_failure(LONG_NS, -EPROTO, "not the socket of a session");
}

static void test_who_found_the_socket_asks_only_root_or_itself(void **state)
{
        if (geteuid() != 0) {
                print_message("only root becomes another user\n");
                skip();
        }
        /* Who listens is who called listen(). */
        assert_int_equal(seteuid(65534), 0);
        assert_int_equal(listen(listener, 8), 0);
        assert_int_equal(seteuid(0), 0);
        serve(let_in);
        expect_failure(LONG_NS, -EACCES, "user 65534 listens there");
}

static volatile sig_atomic_t rings;

static void ring(int number)
{
        rings++;
}

/* A program's own timer neither ends the wait early nor makes it longer. */
static void test_signals_do_not_end_the_wait(void **state)
{
        const struct sigaction action = { .sa_handler = ring };
        const struct itimerspec often = { .it_interval = { .tv_nsec = 5000000 },
                                          .it_value = { .tv_nsec = 5000000 } };
        struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
        timer_t timer;

        sigaction(SIGALRM, &action, NULL);
        assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
        assert_int_equal(timer_settime(timer, 0, &often, NULL), 0);
        serve(say_nothing);
        expect_failure(MIN_NS, -ETIMEDOUT, "does not answer");
        assert_int_equal(timer_delete(timer), 0);
        assert_true(rings > 0);
}

#undef story
#define story(test) cmocka_unit_test_setup_teardown(test, raise_stage, strike_stage)

int main(void)
{
        const struct CMUnitTest tests[] = {
                story(test_a_right_answer_is_a_session),
                story(test_silence_is_not_waited_for),
                story(test_who_hangs_up_is_asked_again_until_the_time_is_over),
                story(test_nobody_there_is_waited_for_and_nothing_there_is_not),
                story(test_who_is_told_how_long_there_is_hope_waits_for_as_long),
                story(test_who_is_told_to_come_again_does),
                story(test_who_is_refused_says_why),
                story(test_a_welcome_has_two_descriptors),
                story(test_descriptors_that_are_too_many_are_closed),
                story(test_who_asks_for_slots_alone_keeps_nothing_of_a_wrong_answer),
                story(test_descriptors_are_the_files_that_they_should_be),
                story(test_a_file_that_was_cut_short_is_not_mapped),
                story(test_what_is_no_welcome_is_refused),
                story(test_a_socket_of_another_kind_is_told),
                story(test_who_found_the_socket_asks_only_root_or_itself),
                story(test_signals_do_not_end_the_wait),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
