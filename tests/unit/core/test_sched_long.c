/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that take long: for how long they are waited for, and that caps are kept nonetheless.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "core/sched.h"
#include "sched_stage.h"

/* 30 ms from waiting; while it uses them it gets more, at the rate of its cap. */
static void what_was_saved_while_it_waited_lasts_until_it_is_used(void **state)
{
        play_sched("add a cap=50\n"
                   "  free a (2ms in flight)\n"
                   "add b\n"
                   "want b\n"
                   "  close a, free b (50ms in flight)\n"
                   "drained a\n"
                   "want a\n"
                   "  open b until 2ms\n"
                   "to 2ms\n"
                   "  2ms: close b\n"
                   "to 20ms\n"
                   "drained b\n"
                   "  open a until 22ms\n"
                   "show a\n"
                   "  held 0, billed 0, bucket 10ms, waited 20ms, throttled 0, overran 0\n"
                   "idle b\n"
                   "skip 70ms\n"
                   "used a 10ms\n"
                   "show a\n"
                   "  held 50ms, billed 10ms, bucket 25ms, waited 20ms, throttled 0, overran 0\n"
                   "skip 80ms\n"
                   "used a 10ms\n"
                   "show a\n"
                   "  held 60ms, billed 20ms, bucket 15ms, waited 20ms, throttled 0, overran 0\n");
}

/* More than 100 ms of it are saved only where it waits for a kernel of such length. */
static void who_waits_for_a_long_kernel_loses_nothing_by_it(void **state)
{
        play_sched("add a cap=50\n"
                   "  free a (2ms in flight)\n"
                   "add b\n"
                   "want b\n"
                   "  close a, free b (50ms in flight)\n"
                   "drained a\n"
                   "want a\n"
                   "  open b until 2ms\n"
                   "to 2ms\n"
                   "  2ms: close b\n"
                   "to 20ms\n"
                   "drained b\n"
                   "  open a until 22ms\n"
                   "show a\n"
                   "  held 0, billed 0, bucket 10ms, waited 20ms, throttled 0, overran 0\n");
}

/* Its bucket is that of the new cap, and so is what it may still save: 1 ms while it waits. */
static void a_lowered_cap_takes_what_was_saved_for_long_kernels(void **state)
{
        play_sched("prompt a\n"
                   "prompt c\n"
                   "add a cap=90 batch\n"
                   "  free a (2ms in flight)\n"
                   "add b\n"
                   "add c\n"
                   "want b\n"
                   "  close a, free b (50ms in flight)\n"
                   "want a\n"
                   "  open b until 2ms\n"
                   "want c\n"
                   "to 2ms\n"
                   "  2ms: close b\n"
                   "to 20ms\n"
                   "change a cap=1\n"
                   "skip 270ms\n"
                   "show a\n"
                   "  held 0, billed 0, bucket 1020us, waited 270ms, throttled 0, overran 0\n");
}

/* -- What caps make of them ------------------------------------------------------------------- */

#define MOST 3u
#define SECOND (1000 * SCHED_MS)

/* Each launches one kernel after the other while its gate is open. */
static struct {
        struct sched sched;
        struct sched_actions actions;
        unsigned count;
        int64_t kernel_ns[MOST], done_ns[MOST], told_ns[MOST]; /* done: SCHED_NEVER: none runs */
} run;

static void step(enum sched_event_type type, unsigned i, int64_t ns, int64_t now_ns)
{
        const struct sched_event event = { .type = type, .member = i, .ns = ns };

        sched_step(&run.sched, &event, now_ns, &run.actions);
        assert_null(run.actions.refused);
}

static void begin(unsigned i, int64_t now_ns)
{
        const struct sched_member *member = &run.sched.member[i];

        if (member->mode != SCHED_MODE_CLOSED && run.done_ns[i] == SCHED_NEVER) {
                run.done_ns[i] = now_ns + run.kernel_ns[i];
                run.told_ns[i] = now_ns;
        }
}

/* In flight since it was last told. */
static void tell_used(unsigned i, int64_t now_ns)
{
        if (run.done_ns[i] != SCHED_NEVER)
                step(SCHED_USED, i, now_ns - run.told_ns[i], now_ns);
        run.told_ns[i] = now_ns;
}

static void end(unsigned i, int64_t now_ns)
{
        run.done_ns[i] = SCHED_NEVER;
        if (run.sched.member[i].is_draining)
                step(SCHED_DRAINED, i, 0, now_ns);
}

static int64_t next_ns(void)
{
        int64_t next_ns = sched_next_ns(&run.sched);

        for (unsigned i = 0; i < run.count; i++) {
                next_ns = run.done_ns[i] < next_ns ? run.done_ns[i] : next_ns;
                if (run.done_ns[i] != SCHED_NEVER && run.told_ns[i] + SCHED_MS < next_ns)
                        next_ns = run.told_ns[i] + SCHED_MS; /* a look */
        }
        return next_ns;
}

static void pass_time(int64_t until_ns)
{
        for (int64_t now_ns = 0; now_ns < until_ns; now_ns = next_ns()) {
                for (unsigned i = 0; i < run.count; i++) {
                        tell_used(i, now_ns);
                        if (run.done_ns[i] == now_ns)
                                end(i, now_ns);
                }
                step(SCHED_TICK, 0, 0, now_ns);
                for (unsigned i = 0; i < run.count; i++)
                        begin(i, now_ns);
        }
}

static void check_caps(const uint32_t *percent, const unsigned *kernel_ms, unsigned count)
{
        memset(&run, 0, sizeof(run));
        sched_init(&run.sched);
        for (run.count = 0; run.count < count; run.count++) {
                struct sched_event event = { .type = SCHED_ADD, .member = run.count };

                event.terms.cap_ppm = percent[run.count] * 10000;
                event.terms.weight = 100;
                sched_step(&run.sched, &event, 0, &run.actions);
                step(SCHED_WANT, run.count, 0, 0);
                run.kernel_ns[run.count] = kernel_ms[run.count] * SCHED_MS;
                run.done_ns[run.count] = SCHED_NEVER;
        }
        pass_time(60 * SECOND);
        for (unsigned i = 0; i < count; i++) {
                int64_t off_ns = run.sched.member[i].billed_ns - 600 * SCHED_MS * percent[i];

                assert_true(off_ns < 300 * SCHED_MS && off_ns > -300 * SCHED_MS);
        }
}

/* Where they are the whole device together, nothing of it is left over. */
static void caps_are_delivered_whatever_kernels_take(void **state)
{
        static const uint32_t percent[][2] = { { 30, 70 }, { 25, 75 }, { 10, 90 }, { 30, 60 } };
        static const unsigned ms[][2] = { { 1, 20 },   { 40, 1 },   { 1, 100 },  { 40, 40 },
                                          { 60, 60 },  { 100, 1 },  { 100, 30 }, { 100, 100 },
                                          { 150, 20 }, { 200, 200 } };

        for (unsigned p = 0; p < 4; p++) {
                for (unsigned m = 0; m < 10; m++)
                        check_caps(percent[p], ms[m], 2);
        }
        check_caps((const uint32_t[]){ 20, 30, 50 }, (const unsigned[]){ 100, 60, 2 }, 3);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_was_saved_while_it_waited_lasts_until_it_is_used),
                cmocka_unit_test(who_waits_for_a_long_kernel_loses_nothing_by_it),
                cmocka_unit_test(a_lowered_cap_takes_what_was_saved_for_long_kernels),
                cmocka_unit_test(caps_are_delivered_whatever_kernels_take),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
