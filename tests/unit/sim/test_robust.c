/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutexes in shared memory: who waits for one inherits it from an owner that dies, and is never
 * forgotten.
 */
#include <errno.h>
#include <linux/futex.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/atomic.h"
#include "sim/node/robust.h"

/* Longer than a waiter sleeps at a time, so that it sleeps when the owner dies. */
#define HOLD_US 30000

static pthread_mutex_t *mutex_make(void)
{
        pthread_mutex_t *mutex = mmap(NULL, sizeof(*mutex), PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        assert_ptr_not_equal(mutex, MAP_FAILED);
        robust_init(mutex);
        return mutex;
}

/* An emulator may not tell the kernel what its program's threads hold. */
static bool is_death_noticed(void)
{
        size_t bytes;
        void *held;

        return syscall(SYS_get_robust_list, 0, &held, &bytes) == 0;
}

/* Rule: the death of an owner is told to the waiter that it left the mutex to, and to it alone; the
 * waiter then owns it like any other. (The thread sanitizer has to know that, too.) */
static void a_waiter_inherits_from_an_owner_that_dies(void **state)
{
        pthread_mutex_t *mutex;
        int is_held[2];
        pid_t owner;
        char told;

        if (!is_death_noticed())
                skip();
        mutex = mutex_make();
        assert_int_equal(pipe(is_held), 0);
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

static void *locker(void *argument)
{
        robust_lock(argument);
        pthread_mutex_unlock(argument);
        return argument;
}

/* Rule: who waits for a lock has it, also when nobody wakes it. As when the waiter that was woken
 * is killed at once, and the lock was taken and given back by one who knows of no other waiter. */
static void a_wake_up_that_is_lost_keeps_nobody_from_a_lock(void **state)
{
        pthread_mutex_t *mutex = mutex_make();
        pthread_t thread;
        void *waited_for;

        assert_int_equal(robust_lock(mutex), 0);
        assert_int_equal(pthread_create(&thread, NULL, locker, mutex), 0);
        /* Until it sleeps, which the mutex then knows, and forgets. */
        while (!((uint32_t)load_acquire((_Atomic int *)&mutex->__data.__lock) & FUTEX_WAITERS))
                nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
        store_release((_Atomic int *)&mutex->__data.__lock, gettid());
        pthread_mutex_unlock(mutex);
        assert_int_equal(pthread_join(thread, &waited_for), 0);
        assert_ptr_equal(waited_for, mutex);
        munmap(mutex, sizeof(*mutex));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_waiter_inherits_from_an_owner_that_dies),
                cmocka_unit_test(a_wake_up_that_is_lost_keeps_nobody_from_a_lock),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
