/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ends of the arrays: as many sessions as there are places, texts without an end.
 */
#include "core/sessions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sessions node, restored;
static struct sessions_actions actions;

static const struct sessions_policy policy = { .overcommit = SESSIONS_STRICT };

static struct sessions_one named(unsigned number)
{
        struct sessions_one one = { .weight = 100, .share_count = 1 };

        snprintf(one.name, sizeof(one.name), "s%u", number);
        memset(one.share[0].uuid, 'A', sizeof(one.share[0].uuid));
        one.share[0].memory_bytes = 1;
        return one;
}

static enum sessions_answer create(const struct sessions_one *one)
{
        const struct sessions_event event = { .type = SESSIONS_CREATE, .session = one };

        sessions_step(&node, &event, 1, &actions);
        return actions.answer;
}

static enum sessions_answer about(enum sessions_event_type type, unsigned number)
{
        struct sessions_one one = named(number);
        const struct sessions_event event = { .type = type, .name = one.name };

        sessions_step(&node, &event, 1, &actions);
        return actions.answer;
}

static int node_with_a_card(void **state)
{
        struct sessions_event event = { .type = SESSIONS_GPU_HERE };

        sessions_init(&node, &policy);
        memset(event.gpu.uuid, 'A', sizeof(event.gpu.uuid));
        event.gpu.card_bytes = UINT64_C(1) << 40;
        sessions_step(&node, &event, 1, &actions);
        return 0;
}

static int node_that_is_full(void **state)
{
        node_with_a_card(state);
        for (unsigned i = 0; i < SESSIONS_MAX; i++) {
                struct sessions_one one = named(i);

                if (create(&one) != SESSIONS_YES)
                        return -1;
        }
        return 0;
}

static void every_place_can_be_taken_and_no_more(void **state)
{
        struct sessions_one more = named(SESSIONS_MAX);

        assert_int_equal(node.count, SESSIONS_MAX);
        assert_int_equal(create(&more), SESSIONS_FULL);
        assert_int_equal(about(SESSIONS_RELEASE, 17), SESSIONS_YES);
        assert_int_equal(create(&more), SESSIONS_FULL);
        assert_int_equal(about(SESSIONS_EMPTY, 17), SESSIONS_YES);
        assert_int_equal(create(&more), SESSIONS_YES);
        assert_ptr_equal(actions.session, &node.session[17]);
        assert_non_null(sessions_find(&node, "s4095"));
}

/* `event` says who asks, for itself. */
static enum sessions_answer create_own(struct sessions_one one, struct sessions_event event)
{
        event.type = SESSIONS_CREATE;
        event.session = &one;
        one.owner_uid = event.uid;
        sessions_step(&node, &event, 1, &actions);
        return actions.answer;
}

static enum sessions_answer create_for(const struct sessions_one *one, uint32_t uid, bool is_admin)
{
        return create_own(*one, (struct sessions_event){ .uid = uid, .is_admin = is_admin });
}

static void the_last_places_are_for_root_and_who_serves_the_node(void **state)
{
        struct sessions_one one;
        unsigned taken = 0;

        for (; one = named(taken), create_for(&one, 1000 + taken, false) == SESSIONS_YES;)
                taken++;
        assert_int_equal(actions.answer, SESSIONS_FULL);
        assert_null(actions.field);
        assert_int_equal(taken, SESSIONS_MAX - SESSIONS_KEPT);
        assert_int_equal(create_for(&one, 0, false), SESSIONS_YES);
        one = named(SESSIONS_MAX);
        assert_int_equal(create_for(&one, 999, true), SESSIONS_YES);
        one = named(SESSIONS_MAX + 1);
        assert_int_equal(create_for(&one, 999, false), SESSIONS_FULL);
}

static enum sessions_answer create_beside(unsigned number, uint32_t uid, uint32_t remains)
{
        return create_own(named(number), (struct sessions_event){ .uid = uid, .remains = remains });
}

/* Removed sessions of which a user has files open are among those that it may have. */
static void what_remains_of_sessions_counts_as_its_users(void **state)
{
        node.policy.owner_max = 3;
        assert_int_equal(create_beside(0, 1000, 3), SESSIONS_FULL);
        assert_string_equal(actions.field, "owner");
        assert_int_equal(create_beside(0, 1000, UINT32_MAX), SESSIONS_FULL);
        assert_int_equal(create_beside(0, 1000, 2), SESSIONS_YES);
        assert_int_equal(create_beside(1, 1000, 2), SESSIONS_FULL);
        assert_int_equal(create_beside(1, 1000, 1), SESSIONS_YES);
        assert_int_equal(create_beside(2, 1001, 0), SESSIONS_YES);
        assert_int_equal(create_beside(3, 0, 3), SESSIONS_YES);
        node.policy.owner_max = 0;
        assert_int_equal(create_beside(4, 1000, UINT32_MAX), SESSIONS_YES);
}

static void a_full_node_is_restored_whole(void **state)
{
        const struct sessions_event tick = { .type = SESSIONS_TICK };
        struct sessions_one more = named(SESSIONS_MAX);
        struct sessions_event event = { .type = SESSIONS_RESTORE };

        sessions_init(&restored, &policy);
        for (unsigned i = 0; i < SESSIONS_MAX; i++) {
                event.session = &node.session[i];
                sessions_step(&restored, &event, 1, &actions);
                assert_int_equal(actions.answer, SESSIONS_YES);
        }
        more.state = SESSIONS_OPEN;
        more.version = 1;
        event.session = &more;
        sessions_step(&restored, &event, 1, &actions);
        assert_int_equal(actions.answer, SESSIONS_FULL);
        for (unsigned i = 0; i < SESSIONS_MAX; i++) {
                sessions_step(&restored, &tick, 1, &actions);
                assert_ptr_equal(actions.session, &restored.session[i]);
                assert_int_equal(actions.count, 2);
                assert_int_equal(actions.is_more, i + 1 < SESSIONS_MAX);
        }
        assert_int_equal(sessions_next_ns(&restored), 0);
}

static void a_node_that_was_emptied_is_as_new(void **state)
{
        struct sessions_one one = named(0);

        for (unsigned i = SESSIONS_MAX; i-- > 0;) {
                assert_int_equal(about(SESSIONS_RELEASE, i), SESSIONS_YES);
                assert_int_equal(about(SESSIONS_EMPTY, i), SESSIONS_YES);
        }
        assert_int_equal(node.count, 0);
        assert_int_equal(node.entries, 0);
        assert_int_equal(create(&one), SESSIONS_YES);
}

static void a_text_without_an_end_is_refused(void **state)
{
        struct sessions_one one = named(1);

        memset(one.name, 'x', sizeof(one.name));
        assert_int_equal(create(&one), SESSIONS_BAD);
        assert_string_equal(actions.field, "name");
        one = named(1);
        memset(one.labels, 'x', sizeof(one.labels));
        assert_int_equal(create(&one), SESSIONS_BAD);
        assert_string_equal(actions.field, "labels");
        one = named(1);
        one.name[0] = '\0';
        assert_int_equal(create(&one), SESSIONS_BAD);
        assert_string_equal(actions.field, "name");
        one = named(1);
        one.share_count = SESSIONS_GPUS + 1;
        assert_int_equal(create(&one), SESSIONS_BAD);
        assert_string_equal(actions.field, "gpus");
}

static void a_row_that_makes_no_sense_is_not_restored(void **state)
{
        struct sessions_one one = named(1);
        const struct sessions_event event = { .type = SESSIONS_RESTORE, .session = &one };

        one.version = 1;
        sessions_step(&node, &event, 1, &actions);
        assert_string_equal(actions.field, "state");
        one.state = SESSIONS_KILLING + 1;
        sessions_step(&node, &event, 1, &actions);
        assert_string_equal(actions.field, "state");
        one.state = SESSIONS_OPEN;
        one.version = 0;
        sessions_step(&node, &event, 1, &actions);
        assert_string_equal(actions.field, "version");
        one.version = 1;
        sessions_step(&node, &event, 1, &actions);
        assert_int_equal(actions.answer, SESSIONS_YES);
        sessions_step(&node, &event, 1, &actions);
        assert_int_equal(actions.answer, SESSIONS_EXISTS);
        assert_int_equal(node.count, 1);
}

static void what_is_held_of_more_gpus_than_there_are_is_refused(void **state)
{
        struct sessions_one one = named(1);
        struct sessions_event event = { .type = SESSIONS_HELD, .name = one.name, .session = &one };

        assert_int_equal(create(&one), SESSIONS_YES);
        one.share_count = SESSIONS_GPUS + 1;
        sessions_step(&node, &event, 1, &actions);
        assert_int_equal(actions.answer, SESSIONS_BAD);
        assert_string_equal(actions.field, "gpus");
        one.share_count = SESSIONS_GPUS;
        sessions_step(&node, &event, 1, &actions);
        assert_int_equal(actions.answer, SESSIONS_YES);
}

static void a_version_is_never_0(void **state)
{
        struct sessions_one one = named(1);
        struct sessions_event event = { .type = SESSIONS_RESTORE, .session = &one };

        one.state = SESSIONS_OPEN;
        one.version = UINT64_MAX;
        sessions_step(&node, &event, 1, &actions);
        assert_int_equal(actions.answer, SESSIONS_YES);
        event.type = SESSIONS_CHANGE;
        event.name = one.name;
        event.change_bits = SESSIONS_HAS_WEIGHT;
        sessions_step(&node, &event, 1, &actions);
        assert_int_equal(actions.session->version, 1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(every_place_can_be_taken_and_no_more, node_that_is_full),
                cmocka_unit_test_setup(the_last_places_are_for_root_and_who_serves_the_node,
                                       node_with_a_card),
                cmocka_unit_test_setup(what_remains_of_sessions_counts_as_its_users,
                                       node_with_a_card),
                cmocka_unit_test_setup(a_full_node_is_restored_whole, node_that_is_full),
                cmocka_unit_test_setup(a_node_that_was_emptied_is_as_new, node_that_is_full),
                cmocka_unit_test_setup(a_text_without_an_end_is_refused, node_with_a_card),
                cmocka_unit_test_setup(a_row_that_makes_no_sense_is_not_restored, node_with_a_card),
                cmocka_unit_test_setup(what_is_held_of_more_gpus_than_there_are_is_refused,
                                       node_with_a_card),
                cmocka_unit_test_setup(a_version_is_never_0, node_with_a_card),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
