/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who takes turns beside a process of its own session that scribbles over the page loses every
 * exchange of the turn's word, and is not held up by that.
 */
#include <stdlib.h>

#include "common/atomic.h"
#include "shim/admit_parts.h"

/* Last: it defines fail(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define SWAPS_MOST 1000000u /* far more than anybody may try */

static uint64_t scribbled[2]; /* what the word is each second time */
static unsigned swaps;

static bool lose(uint64_t *seen, uint64_t desired)
{
        (void)desired;
        assert_true(++swaps < SWAPS_MOST);
        *seen = scribbled[swaps % 2];
        return false;
}

#undef cas_acq_rel
#define cas_acq_rel(object, expected, desired) lose((expected), (desired))
#include "shim/admit_turn.c" /* its exchanges are lost here */

#define START UINT64_C(1000000000000)

static struct limits_page limits;
static struct slots_page *slots;
static struct admit admit;

static int a_page_that_is_scribbled_on(void **state)
{
        slots = calloc(1, sizeof(*slots));
        admit = (struct admit){ &limits, &limits.device[0], slots, &slots->meter[0], 1 };
        scribbled[0] = 2;                   /* another's, given up */
        scribbled[1] = PAGE_TURN_TAKEN | 2; /* or over */
        swaps = 0;
        return slots ? 0 : -1;
}

static int drop(void **state)
{
        free(slots);
        return 0;
}

static void a_turn_that_is_always_lost_is_not_waited_for(void **state)
{
        const struct admit_ask ask = { .piece_ns = 10000, .careful_ns = 10000 };
        uint64_t until_ns = 0;

        assert_true(admit_take_turn(&admit, &ask, START, &until_ns) > START);
        assert_true(swaps > 0);
}

static void who_cannot_say_that_it_wants_the_turn_goes_on(void **state)
{
        admit_want_turn(&admit);
        assert_true(swaps > 0);
}

static void who_cannot_give_it_up_or_end_it_goes_on(void **state)
{
        slots->meter[0].turn = turn_word(&admit, START + 10 * TURN_SLACK_NS);
        admit_end_turn_by(&admit, START);
        admit_yield(&admit, START);
        assert_int_equal(swaps, 2);
}

#define RULE(name) cmocka_unit_test_setup_teardown(name, a_page_that_is_scribbled_on, drop)

int main(void)
{
        const struct CMUnitTest tests[] = {
                RULE(a_turn_that_is_always_lost_is_not_waited_for),
                RULE(who_cannot_say_that_it_wants_the_turn_goes_on),
                RULE(who_cannot_give_it_up_or_end_it_goes_on),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
