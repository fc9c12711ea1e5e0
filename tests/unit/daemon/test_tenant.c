/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The socket of a session: who is let in and gets what, who is refused and why, and that nobody who
 * is slow, silent or malicious is in anybody's way. Daemon and joiner are this one process, which
 * turns the loop between what they say.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/text.h"
#include "daemon/tenant_parts.h"

/* Last: it defines fail(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define GIB (UINT64_C(1) << 30)
#define TURNS 2000 /* of a millisecond: a bound on hangs */

static struct store store;
static struct config config;
static struct event_base *base;
static struct database *database;
static struct node *node;
static struct tenants *tenants;
static const uint8_t gpu[16] = { 7 };

/* What a joiner was answered. */
static union message_answer answer;
static int limits = -1, slots = -1;

/* -- The stage -------------------------------------------------------------------------------- */

static void turn(void)
{
        event_base_loop(base, EVLOOP_NONBLOCK);
}

static void open_tenants(void)
{
        const struct tenants_options options = { base, node, &config };
        struct error err = { 0 };

        if (tenants_start(&tenants, &options, &err) < 0)
                fail_msg("%s", err.text);
}

static void step(const struct sessions_event *event)
{
        static struct sessions_actions actions;
        struct error err = { 0 };

        if (node_step(node, event, "test", &actions, &err) < 0 || actions.answer != SESSIONS_YES)
                fail_msg("%d %s", actions.answer, err.text);
}

static void create(const char *name)
{
        struct sessions_one session = { .id = { 1, (uint8_t)name[0] },
                                        .owner_uid = geteuid(),
                                        .weight = 100,
                                        .share_count = 1 };

        memcpy(session.share[0].uuid, gpu, sizeof(gpu));
        session.share[0].memory_bytes = GIB;
        text_put(session.name, sizeof(session.name), NULL, "%s", name);
        step(&(struct sessions_event){
                .type = SESSIONS_CREATE, .name = session.name, .session = &session });
}

static int raise_stage(void **state)
{
        struct node_options options = { .store = &store,
                                        .policy = &config.policy,
                                        .nvml = "/no/such/library" };
        struct sessions_event here = { .type = SESSIONS_GPU_HERE };
        char path[DATABASE_PATH_BYTES];
        struct error err = { 0 };

        strcpy(store.path, "/dev/shm/aliquot-test-XXXXXX");
        assert_non_null(mkdtemp(store.path));
        snprintf(path, sizeof(path), "%.64s/" DATABASE_FILE, store.path);
        config_init(&config);
        base = event_base_new();
        if (database_open(path, true, &database, &err) < 0)
                fail_msg("%s", err.text);
        options.base = base;
        options.database = database;
        if (node_open(&node, &options, &err) < 0)
                fail_msg("%s", err.text);
        memcpy(here.gpu.uuid, gpu, sizeof(gpu));
        here.gpu.card_bytes = 16 * GIB;
        step(&here);
        create("a");
        open_tenants();
        return 0;
}

static void drop_descriptors(void)
{
        if (limits >= 0)
                close(limits);
        if (slots >= 0)
                close(slots);
        limits = slots = -1;
}

static int strike_stage(void **state)
{
        char command[STORE_PATH_BYTES + 16];

        drop_descriptors();
        unsetenv("GPUSLICE_IPC_TOKEN");
        tenants_stop(tenants);
        tenants = NULL;
        node_close(node);
        database_close(database);
        event_base_free(base);
        snprintf(command, sizeof(command), "rm -rf '%s'", store.path);
        return system(command);
}

/* -- A joiner --------------------------------------------------------------------------------- */

static struct sockaddr_un address_of(const char *name)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        snprintf(address.sun_path, sizeof(address.sun_path), "%.64s/sessions/%s/socket", store.path,
                 name);
        return address;
}

/* Negative errno: nobody is there. */
static int connect_to(const char *name)
{
        const struct sockaddr_un address = address_of(name);
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0);
        if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
                return fd;
        close(fd);
        return -errno;
}

/* -1 when the connection ended without an answer, 0 when it did not end; else its type. */
static int hear(int fd)
{
        char message[MESSAGE_MOST], control[CMSG_SPACE(2 * sizeof(int))] = { 0 };
        struct iovec part = { message, sizeof(message) };
        struct msghdr header = { .msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = control,
                                 .msg_controllen = sizeof(control) };
        ssize_t got = -1;
        const struct cmsghdr *rights;

        for (unsigned i = 0; got < 0 && i < TURNS; i++) {
                turn();
                got = recvmsg(fd, &header, MSG_CMSG_CLOEXEC);
                if (got < 0 && errno != EAGAIN)
                        return -1;
                if (got < 0)
                        usleep(1000);
        }
        if (got <= 0)
                return got < 0 ? 0 : -1;
        drop_descriptors();
        rights = CMSG_FIRSTHDR(&header);
        if (rights) {
                memcpy(&limits, CMSG_DATA(rights), sizeof(int));
                memcpy(&slots, CMSG_DATA(rights) + sizeof(int), sizeof(int));
        }
        return message_read_answer(message, (size_t)got, &answer, NULL);
}

static int say(const char *name, const void *message, size_t bytes)
{
        int fd = connect_to(name);
        int type;

        assert_true(fd >= 0);
        assert_int_equal(send(fd, message, bytes, MSG_NOSIGNAL), (ssize_t)bytes);
        type = hear(fd);
        close(fd);
        return type;
}

static int join_with(const char *name, const struct message_wish *wish)
{
        char message[MESSAGE_MOST];

        return say(name, message, message_write_hello(message, wish));
}

static int join(const char *name)
{
        return join_with(name, &(struct message_wish){ .command = "test" });
}

static void expect_refused(int type, enum message_code code, const char *word)
{
        assert_int_equal(type, MESSAGE_REFUSED);
        assert_int_equal(answer.refused.code, code);
        if (!strstr(answer.refused.reason, word))
                fail_msg("'%s' is not in: %s", word, answer.refused.reason);
        assert_int_equal(limits, -1);
}

/* -- Stories ---------------------------------------------------------------------------------- */

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
        assert_int_equal(answer.head.version_most, MESSAGE_VERSION_MOST);
        assert_int_equal(join("a"), MESSAGE_WELCOME);
}

static void test_a_message_that_is_too_long_is_none(void **state)
{
        static const char message[3 * MESSAGE_MOST];

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

        config.join_session_connections_most = 4;
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

/* A process of its own: says HELLO, and lives until it is told by a pipe. */
static pid_t start_tenant(int *ret_end)
{
        char message[MESSAGE_MOST];
        size_t bytes = message_write_hello(message, &(struct message_wish){ .command = "child" });
        int ends[2];
        pid_t child;

        assert_int_equal(pipe(ends), 0);
        child = fork();
        if (child == 0) {
                int fd = connect_to("a");

                close(ends[1]);
                if (send(fd, message, bytes, MSG_NOSIGNAL) < 0 || read(ends[0], message, 1) < 0)
                        _exit(1);
                _exit(0);
        }
        close(ends[0]);
        *ret_end = ends[1];
        return child;
}

static void test_a_death_is_known_at_once(void **state)
{
        int end;
        pid_t child = start_tenant(&end);

        for (unsigned i = 0; !tenants_counts(tenants)->joined && i < TURNS; i++) {
                turn();
                usleep(1000);
        }
        if (!tenants_counts(tenants)->watched) {
                print_message("this kernel has no pidfd\n");
                skip();
        }
        assert_int_equal(tenants_counts(tenants)->left, 0);
        close(end);
        assert_int_equal(waitpid(child, NULL, 0), child);
        for (unsigned i = 0; !tenants_counts(tenants)->left && i < TURNS; i++) {
                turn();
                usleep(1000);
        }
        assert_int_equal(tenants_counts(tenants)->left, 1);
        assert_int_equal(tenants_counts(tenants)->watched, 0);
}

static void test_a_peer_is_known_by_the_kernels_word(void **state)
{
        struct tenant_peer peer;
        int pair[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
        assert_true(tenant_peer_read(pair[0], &peer));
        tenant_peer_identify(&peer);
        assert_int_equal(peer.uid, geteuid());
        assert_int_equal(peer.pid, getpid());
        assert_true(peer.held >= 0);
        assert_int_equal(peer.start_ticks, usage_start_ticks((uint32_t)getpid()));
        assert_int_equal(peer.cgroup[0], '/');
        tenant_peer_end(&peer);
        close(pair[0]);
        close(pair[1]);
}

static void test_who_asks_twice_is_watched_once(void **state)
{
        assert_int_equal(join("a"), MESSAGE_WELCOME);
        assert_int_equal(join("a"), MESSAGE_WELCOME);
        assert_true(tenants_counts(tenants)->watched <= 1);
}

#define story(test) cmocka_unit_test_setup_teardown(test, raise_stage, strike_stage)

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
                story(test_who_says_nothing_is_not_waited_for),
                story(test_of_a_crowd_that_says_nothing_the_oldest_makes_room),
                story(test_too_many_joins_are_told_when_to_come_again),
                story(test_what_one_session_uses_up_is_its_own),
                story(test_a_socket_comes_and_goes_with_its_session),
                story(test_a_name_made_anew_is_another_socket),
                story(test_the_next_daemon_listens_again),
                story(test_a_death_is_known_at_once),
                story(test_a_peer_is_known_by_the_kernels_word),
                story(test_who_asks_twice_is_watched_once),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
