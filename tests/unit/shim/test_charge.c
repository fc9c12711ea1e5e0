/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verbs of memory, as a hook uses them: reserve, act, settle.
 */
#include "double.h"
#include "shim/charge.h"
#include "shim/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/atomic.h"
#include "shim/attach.h"
#include "wiped_fixture.h"

#define LIMIT UINT64_C(1000)

static int nothing_held(void **state)
{
        double_limit(0, LIMIT);
        assert_int_equal(double_used(0), 0);
        return 0;
}

static void hold(uint64_t bytes, uint64_t key)
{
        struct charge c;

        assert_true(charge_begin(&c, 0, bytes));
        charge_keep(&c, SPACE_POINTER, key);
}

static void let_go(uint64_t key)
{
        struct charge c;

        assert_true(charge_take(&c, SPACE_POINTER, key));
        charge_drop(&c);
}

/* What a front end says of, such as imports: until it is given back, by whatever way. */
static void what_nvml_does_not_show_is_known(void **state)
{
        struct charge managed, plain;

        assert_true(charge_begin(&managed, 0, 100));
        charge_mark_unseen(&managed);
        assert_int_equal(charge_unseen_bytes(0), 100);
        charge_trim(&managed, 80);
        assert_int_equal(charge_unseen_bytes(0), 80);
        managed.owner = 7;
        charge_keep(&managed, SPACE_POINTER, 1);
        assert_true(charge_begin(&plain, 0, 30));
        charge_mark_unseen(&plain);
        charge_keep(&plain, SPACE_IMPORT, 2);
        hold(500, 3);
        assert_int_equal(charge_unseen_bytes(0), 110);
        assert_true(charge_take(&plain, SPACE_IMPORT, 2));
        assert_true(charge_begin(&managed, 0, 20));
        charge_join(&plain, &managed);
        assert_int_equal(charge_unseen_bytes(0), 130);
        charge_drop(&plain);
        assert_true(charge_take(&managed, SPACE_POINTER, 1));
        charge_mark_seen(&managed);
        charge_mark_seen(&managed);
        assert_int_equal(charge_unseen_bytes(0), 0);
        charge_mark_unseen(&managed);
        assert_int_equal(charge_unseen_bytes(0), 80);
        charge_keep(&managed, SPACE_POINTER, 1);
        charge_drop_owner(7);
        assert_int_equal(charge_unseen_bytes(0), 0);
        let_go(3);
}

/* What the driver took without a grant is counted, and everybody waits until it is gone. */
static void what_is_forced_is_charged_above_the_limit(void **state)
{
        struct charge forced, c;

        hold(900, 1);
        assert_true(charge_force(&forced, 0, 400));
        charge_keep(&forced, SPACE_GRAPH, 2);
        assert_int_equal(double_used(0), 1300);
        assert_false(charge_begin(&c, 0, 1));
        let_go(1);
        assert_false(charge_begin(&c, 0, 601));
        assert_true(charge_begin(&c, 0, 600));
        charge_drop(&c);
        assert_true(charge_take(&c, SPACE_GRAPH, 2));
        charge_drop(&c);
        assert_false(charge_force(&c, SESSION_NO_ROW, 1));
        assert_false(charge_force(&c, 0, UINT64_MAX));
        assert_int_equal(double_used(0), 0);
}

static void what_is_kept_is_given_back_when_taken(void **state)
{
        struct charge c;

        hold(600, 1);
        assert_int_equal(double_used(0), 600);
        assert_int_equal(charge_held(SPACE_POINTER, 1), 600);
        assert_false(charge_begin(&c, 0, 401));
        assert_false(c.is_reserved);
        charge_drop(&c);
        assert_int_equal(double_used(0), 600);
        let_go(1);
        assert_int_equal(double_used(0), 0);
        assert_false(charge_take(&c, SPACE_POINTER, 1));
        charge_drop(&c);
        assert_int_equal(double_used(0), 0);
}

static void a_call_that_failed_leaves_no_trace(void **state)
{
        struct charge c;

        assert_true(charge_begin(&c, 0, LIMIT));
        charge_drop(&c);
        assert_int_equal(double_used(0), 0);
        charge_drop(&c);
        assert_int_equal(double_used(0), 0);
}

static void a_free_that_failed_leaves_the_block(void **state)
{
        struct charge c;

        hold(10, 1);
        assert_true(charge_take(&c, SPACE_POINTER, 1));
        charge_keep(&c, SPACE_POINTER, 1);
        assert_int_equal(charge_held(SPACE_POINTER, 1), 10);
        let_go(1);
}

static void a_reservation_is_trimmed_and_never_grows(void **state)
{
        struct charge c;

        assert_true(charge_begin(&c, 0, 100));
        charge_trim(&c, 200);
        assert_int_equal(c.bytes, 100);
        charge_trim(&c, 30);
        assert_int_equal(double_used(0), 30);
        charge_keep(&c, SPACE_POINTER, 1);
        let_go(1);
}

static void two_grants_become_one(void **state)
{
        struct charge a, b;

        assert_true(charge_begin(&a, 0, 100));
        assert_true(charge_begin(&b, 0, 50));
        charge_join(&a, &b);
        charge_drop(&b);
        assert_int_equal(double_used(0), 150);
        charge_keep(&a, SPACE_POOL, 1);
        assert_int_equal(charge_held(SPACE_POOL, 1), 150);
        assert_true(charge_take(&a, SPACE_POOL, 1));
        assert_true(charge_begin(&b, 0, 0));
        charge_join(&b, &a);
        charge_drop(&b);
        assert_int_equal(double_used(0), 0);
}

static void a_live_key_is_replaced_and_its_bytes_go(void **state)
{
        hold(100, 1);
        hold(30, 1);
        assert_int_equal(double_used(0), 30);
        let_go(1);
}

static void an_owner_takes_its_blocks_along(void **state)
{
        struct charge c;

        for (uint64_t key = 0; key < 50; key++) {
                assert_true(charge_begin(&c, (int)(key % 2), 10));
                c.owner = (uint32_t)(1 + key % 5);
                charge_keep(&c, SPACE_ARRAY, key);
        }
        charge_drop_owner(3);
        charge_drop_owner(0);
        assert_int_equal(double_used(0) + double_used(1), 400);
        for (uint32_t owner = 1; owner <= 5; owner++)
                charge_drop_owner(owner);
        assert_int_equal(double_used(0) + double_used(1), 0);
}

static void without_a_device_every_verb_succeeds_and_does_nothing(void **state)
{
        struct charge c;

        assert_true(charge_begin(&c, CHARGE_NO_DEVICE, UINT64_MAX));
        charge_trim(&c, 1);
        charge_keep(&c, SPACE_POINTER, 1);
        assert_false(charge_take(&c, SPACE_POINTER, 1));
        assert_false(charge_read(CHARGE_NO_DEVICE, &(struct charge_view){ 0 }));
}

static void a_device_without_a_row_is_refused(void **state)
{
        struct charge c;

        assert_false(charge_begin(&c, SESSION_NO_ROW, 1));
        assert_false(charge_begin(&c, PAGE_DEVICES, 1));
        assert_false(charge_begin(&c, INT32_MAX, 1));
}

static void the_view_is_the_word_and_the_limit_of_now(void **state)
{
        struct charge_view view;

        hold(100, 1);
        double_limit(0, 50);
        assert_true(charge_read(0, &view));
        assert_int_equal(view.used_bytes, 100);
        assert_int_equal(view.limit_bytes, 50);
        let_go(1);
}

static void more_than_a_row_holds_is_never_given_back(void **state)
{
        struct process *process = process_attached();
        uint64_t *used = &double_slots()->ledger[0].used_bytes;

        hold(10, 1);
        *used = 500; /* the others' */
        lock_take(&process->device[0].lock);
        process_release(process, 0, UINT64_MAX);
        lock_drop(&process->device[0].lock);
        assert_int_equal(double_used(0), 490);
        *used = 0;
        let_go(1);
        assert_int_equal(double_used(0), 0);
}

/* One that holds the rest of the limit in another process, and is killed. */
static void leave_dead(uint64_t bytes)
{
        int ready[2];
        char byte = 0;
        pid_t pid;

        if (!a_child_is_wiped())
                skip(); /* an emulator may not know the advice */
        assert_int_equal(pipe(ready), 0);
        pid = fork();
        if (pid == 0) {
                hold(bytes, 1);
                if (write(ready[1], &byte, 1) == 1)
                        pause();
                _exit(1);
        }
        assert_int_equal(read(ready[0], &byte, 1), 1);
        close(ready[0]);
        close(ready[1]);
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void after_a_reclaim_a_refusal_of_the_driver_is_waited_out(void **state)
{
        struct charge c;

        double_slots()->ledger[0].reclaimed_at_ns = 0;
        assert_true(charge_begin(&c, 0, LIMIT));
        assert_false(charge_wait_for_drain(&c, 0));
        charge_drop(&c);

        leave_dead(900);
        assert_true(charge_begin(&c, 0, 500));
        assert_true(charge_wait_for_drain(&c, 0));
        assert_true(charge_wait_for_drain(&c, 399));
        assert_false(charge_wait_for_drain(&c, 400));
        /* Too late to begin; who began in time gets its tries, however slow the machine. */
        double_slots()->ledger[0].reclaimed_at_ns -= UINT64_C(2100000000);
        assert_false(charge_wait_for_drain(&c, 0));
        assert_true(charge_wait_for_drain(&c, 39));
        assert_false(charge_wait_for_drain(&c, 40));
        charge_drop(&c);
}

/* The card may be smaller than the limit, or hold more than was charged. */
static void the_dead_are_waited_for_though_the_limit_has_room(void **state)
{
        struct charge c;

        double_slots()->ledger[0].reclaimed_at_ns = 0;
        leave_dead(100);
        assert_true(charge_begin(&c, 0, 500));
        assert_int_equal(double_slots()->ledger[0].reclaimed_at_ns, 0);
        assert_true(charge_wait_for_drain(&c, 0));
        charge_drop(&c);
}

/* Programs look at errno after calls that have nothing to do with us. */
static void errno_is_left_as_it_was(void **state)
{
        struct charge c;

        leave_dead(900);
        errno = 4711;
        assert_false(charge_begin(&c, 0, LIMIT + 1));
        assert_true(charge_begin(&c, 0, LIMIT));
        charge_wait_for_drain(&c, 0);
        charge_drop(&c);
        assert_int_equal(errno, 4711);
}

static unsigned open_descriptors(void)
{
        unsigned count = 0;

        for (int fd = 0; fd < 2048; fd++)
                count += fcntl(fd, F_GETFD) >= 0;
        return count;
}

static void no_descriptor_stays_open(void **state)
{
        unsigned before = open_descriptors();
        struct charge c;

        leave_dead(900);
        hold(500, 1);
        assert_false(charge_begin(&c, 0, 501));
        let_go(1);
        assert_int_equal(open_descriptors(), before);
}

/* The file was swapped for another: nothing of it can be believed, and what is held stays held. */
static void a_stranger_at_the_path_is_never_locked(void **state)
{
        char path[256], aside[280];
        struct charge c;
        FILE *stranger;

        snprintf(path, sizeof(path), "%s", session_slots_file()->path);
        snprintf(aside, sizeof(aside), "%s.aside", path);
        leave_dead(900);
        assert_int_equal(rename(path, aside), 0);
        stranger = fopen(path, "w");
        assert_non_null(stranger);
        fclose(stranger);
        assert_false(charge_begin(&c, 0, 500));
        assert_int_equal(double_used(0), 900);
        assert_int_equal(rename(aside, path), 0);
        assert_true(charge_begin(&c, 0, 500));
        charge_drop(&c);
}

static void without_descriptors_it_refuses_and_recovers(void **state)
{
        struct rlimit before, none;
        struct charge c;

        leave_dead(900);
        getrlimit(RLIMIT_NOFILE, &before);
        none = before;
        none.rlim_cur = 3;
        setrlimit(RLIMIT_NOFILE, &none);
        assert_false(charge_begin(&c, 0, 500));
        setrlimit(RLIMIT_NOFILE, &before);
        assert_true(charge_begin(&c, 0, 500));
        charge_drop(&c);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(what_is_kept_is_given_back_when_taken, nothing_held),
                cmocka_unit_test_setup(what_is_forced_is_charged_above_the_limit, nothing_held),
                cmocka_unit_test_setup(what_nvml_does_not_show_is_known, nothing_held),
                cmocka_unit_test_setup(a_call_that_failed_leaves_no_trace, nothing_held),
                cmocka_unit_test_setup(a_free_that_failed_leaves_the_block, nothing_held),
                cmocka_unit_test_setup(a_reservation_is_trimmed_and_never_grows, nothing_held),
                cmocka_unit_test_setup(two_grants_become_one, nothing_held),
                cmocka_unit_test_setup(a_live_key_is_replaced_and_its_bytes_go, nothing_held),
                cmocka_unit_test_setup(an_owner_takes_its_blocks_along, nothing_held),
                cmocka_unit_test_setup(without_a_device_every_verb_succeeds_and_does_nothing,
                                       nothing_held),
                cmocka_unit_test_setup(a_device_without_a_row_is_refused, nothing_held),
                cmocka_unit_test_setup(the_view_is_the_word_and_the_limit_of_now, nothing_held),
                cmocka_unit_test_setup(more_than_a_row_holds_is_never_given_back, nothing_held),
                cmocka_unit_test_setup(after_a_reclaim_a_refusal_of_the_driver_is_waited_out,
                                       nothing_held),
                cmocka_unit_test_setup(the_dead_are_waited_for_though_the_limit_has_room,
                                       nothing_held),
                cmocka_unit_test_setup(errno_is_left_as_it_was, nothing_held),
                cmocka_unit_test_setup(no_descriptor_stays_open, nothing_held),
                cmocka_unit_test_setup(a_stranger_at_the_path_is_never_locked, nothing_held),
                cmocka_unit_test_setup(without_descriptors_it_refuses_and_recovers, nothing_held),
        };
        int failures;

        double_make(LIMIT);
        failures = cmocka_run_group_tests(tests, NULL, NULL);
        double_end();
        return failures;
}
