/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose memory is on the card, for how long, and what moves for it.
 */
#include "core/swap.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "swap_world.h"

#define MIB WORLD_MIB
#define GIB WORLD_GIB
#define MS WORLD_MS
#define SECOND WORLD_SECOND

enum { A, B, C, D };

static struct world_session *add(unsigned entry, enum swap_class class, uint64_t gib)
{
        struct world_session *session = world_add(entry, class, gib * GIB, GIB / 2);

        session->is_busy = true;
        world_run(50 * MS);
        return session;
}

static void what_fits_runs_and_nothing_moves(void **state)
{
        struct world_session *a, *b;

        world_begin(80 * GIB);
        a = add(A, SWAP_CLASS_NORMAL, 30);
        b = add(B, SWAP_CLASS_NORMAL, 40);
        world_run(100 * SECOND);
        assert_int_equal(a->swappable_bytes, 30 * GIB);
        assert_int_equal(b->swappable_bytes, 40 * GIB);
        assert_int_equal(a->moved_bytes + b->moved_bytes, 0);
        assert_int_equal(world.swap.session[A].holds + world.swap.session[B].holds, 0);
        assert_false(world.swap.card[0].is_short);
}

static void two_that_do_not_fit_take_equal_turns_and_lose_little(void **state)
{
        struct world_session *a, *b;

        world_begin(80 * GIB);
        a = add(A, SWAP_CLASS_NORMAL, 60);
        b = add(B, SWAP_CLASS_NORMAL, 60);
        world_run(30 * SECOND);
        a->ran_ns = b->ran_ns = world.stopped_ns = 0;
        world_run(400 * SECOND);
        assert_true(a->ran_ns > 180 * SECOND && b->ran_ns > 180 * SECOND);
        assert_true(world.stopped_ns < 24 * SECOND);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_fits_runs_and_nothing_moves),
                cmocka_unit_test(two_that_do_not_fit_take_equal_turns_and_lose_little),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
