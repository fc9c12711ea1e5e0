/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper thread: nothing that it is told of is left lying, at whichever moment it is told.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "shim/helper.h"

#define FEW_BYTES 4096u
#define STACK_BYTES (UINT64_C(8) << 20)
#define PATIENCE_NS UINT64_C(20000000000) /* a bound on hangs */

static _Atomic uint32_t runs;

/* There is more to do as soon as its first run has passed it by. */
static uint64_t task(uint64_t now_ns)
{
        if (load_relaxed(&runs) == 0)
                helper_kick(task);
        add_acq_rel(&runs, 1);
        clock_wake(&runs, 1);
        (void)now_ns;
        return CLOCK_NEVER;
}

static void wait_for_runs(uint32_t wanted)
{
        uint64_t deadline_ns = clock_now_ns() + PATIENCE_NS;
        uint32_t seen;

        while ((seen = load_acquire(&runs)) < wanted) {
                if (!clock_wait(&runs, seen, deadline_ns))
                        fail_msg("it ran %u times of %u", seen, wanted);
        }
}

static void who_kicks_while_it_works_is_heard(void **state)
{
        assert_true(helper_kick(task));
        wait_for_runs(2);
}

static void who_kicks_while_it_sleeps_is_heard(void **state)
{
        uint32_t seen = load_acquire(&runs);

        assert_true(helper_kick(task));
        wait_for_runs(seen + 1);
}

/* There is no memory for a thread's stack, and then there is. Before any other one: a stack that
 * was used is used again. */
static void one_that_could_not_be_started_is_tried_again(void **state)
{
        struct rlimit few = { FEW_BYTES, RLIM_INFINITY }, before;
        pid_t child;
        int status;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        skip(); /* they want memory, too */
#endif
        child = fork();
        if (child == 0) {
                getrlimit(RLIMIT_AS, &before);
                few.rlim_max = before.rlim_max;
                setrlimit(RLIMIT_AS, &few);
                if (mmap(NULL, STACK_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
                    MAP_FAILED)
                        _exit(77); /* an emulator that knows no such limit */
                if (helper_kick(task) || helper_runs())
                        _exit(1);
                setrlimit(RLIMIT_AS, &before);
                _exit(helper_kick(task) && helper_runs() ? 0 : 2);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
                skip();
        assert_int_equal(status, 0);
}

/* A vfork child runs the program's handlers at exit, in the program's memory. */
static void it_does_not_end_with_a_child(void **state)
{
        pid_t child;

        who_kicks_while_it_sleeps_is_heard(state);
        child = vfork();
        if (child == 0)
                exit(0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        assert_true(helper_runs());
        who_kicks_while_it_sleeps_is_heard(state);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(one_that_could_not_be_started_is_tried_again),
                cmocka_unit_test(who_kicks_while_it_works_is_heard),
                cmocka_unit_test(who_kicks_while_it_sleeps_is_heard),
                cmocka_unit_test(it_does_not_end_with_a_child),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
