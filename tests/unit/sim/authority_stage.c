/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See authority_stage.h.
 */
#include "authority_stage.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct stage *stage;

int stage_setup(void **state)
{
        stage = mmap(NULL, sizeof(*stage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                     0);
        assert_true(stage != MAP_FAILED);
        authority_make(&stage->time);
        return 0;
}

int stage_teardown(void **state)
{
        return munmap(stage, sizeof(*stage));
}

void sleep_ns(uint64_t ns)
{
        authority_wait(&stage->time, NULL, 0, 0, authority_now(&stage->time) + ns);
}

void nap_ms(void)
{
        nanosleep(&(struct timespec){ .tv_nsec = MS_NS }, NULL);
}

void note(uint32_t who)
{
        uint32_t i = add_acq_rel(&stage->length, 1);

        stage->entry[i] = who;
        stage->at_ns[i] = authority_now(&stage->time);
}

pid_t start(int (*body)(unsigned who), unsigned who)
{
        pid_t child = fork();

        if (child == 0)
                _exit(body(who));
        assert_true(child > 0);
        return child;
}

void ends_well(pid_t child)
{
        int status;

        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
}

int outlives(unsigned who)
{
        authority_join(&stage->time, TIME_FOREGROUND, 2);
        sleep_ns(SECOND_NS);
        return 0;
}

enum { STEPS = 200 };

/* Who of 0 and 1 it is differs in length of step only. */
static int stepper(unsigned who)
{
        authority_join(&stage->time, TIME_FOREGROUND, 2);
        for (unsigned i = 0; i < STEPS; i++) {
                note(who);
                sleep_ns((2 + who) * SECOND_NS);
        }
        authority_leave(&stage->time);
        return 0;
}

/* 0 is due at 0, 2, 4, ..., 1 at 0, 3, 6, ...: when both are, the older process goes first. */
void two_processes_go_in_the_order_of_their_times(void **state)
{
        pid_t first = start(stepper, 0), second = start(stepper, 1);
        uint64_t start_ns, due_ns[2] = { 0, 0 };

        ends_well(first);
        ends_well(second);
        assert_int_equal(stage->length, 2 * STEPS);
        start_ns = stage->at_ns[0];
        for (unsigned i = 0; i < 2 * STEPS; i++) {
                unsigned who = stage->entry[i];

                assert_int_equal(stage->at_ns[i] - start_ns, due_ns[who]);
                assert_true(i == 0 || stage->at_ns[i - 1] <= stage->at_ns[i]);
                due_ns[who] += (2 + who) * SECOND_NS;
        }
        assert_int_equal(stage->entry[0], 0);
        assert_int_equal(stage->entry[1], 1);
}
