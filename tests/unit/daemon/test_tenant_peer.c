/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has joined is known by the kernel's word, and so is its death.
 */
#include <sys/wait.h>

#include "tenant_fixture.h"

/* A process of its own: says HELLO, and lives until it is told by a pipe. */
static pid_t start_tenant(int *ret_end)
{
        char message[MESSAGE_MAX];
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

int main(void)
{
        const struct CMUnitTest tests[] = {
                story(test_a_death_is_known_at_once),
                story(test_a_peer_is_known_by_the_kernels_word),
                story(test_who_asks_twice_is_watched_once),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
