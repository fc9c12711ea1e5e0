/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutexes in shared memory: who waits for one inherits it from an owner that dies.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim/node/robust.h"

/* Longer than a waiter sleeps at a time, so that it sleeps when the owner dies. */
#define HOLD_US 30000

/* Rule: the death of an owner is told to the waiter that it left the mutex to, and to it alone; the
 * waiter then owns it like any other. (The thread sanitizer has to know that, too.) */
static void a_waiter_inherits_from_an_owner_that_dies(void **state)
{
        pthread_mutex_t *mutex = mmap(NULL, sizeof(*mutex), PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        int is_held[2];
        pid_t owner;
        char told;

        (void)state;
        assert_ptr_not_equal(mutex, MAP_FAILED);
        assert_int_equal(pipe(is_held), 0);
        robust_init(mutex);
        owner = fork();
        if (owner == 0) {
                robust_lock(mutex);
                if (write(is_held[1], "", 1) == 1)
                        usleep(HOLD_US);
                raise(SIGKILL);
        }
        assert_int_equal(read(is_held[0], &told, 1), 1);

        assert_int_equal(robust_lock(mutex), EOWNERDEAD);
        assert_int_equal(pthread_mutex_consistent(mutex), 0);
        assert_int_equal(pthread_mutex_unlock(mutex), 0);
        assert_int_equal(robust_lock(mutex), 0);
        assert_int_equal(pthread_mutex_unlock(mutex), 0);

        assert_int_equal(waitpid(owner, NULL, 0), owner);
        close(is_held[0]);
        close(is_held[1]);
        munmap(mutex, sizeof(*mutex));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_waiter_inherits_from_an_owner_that_dies),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
