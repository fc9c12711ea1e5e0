/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of a card can be promised.
 */
#include "machine/cards.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)

/* An H200 of 2026-11-26: CUDA's total is 150,109,880,320. */
static void what_a_card_keeps_and_a_quarter_more_is_not_promised(void **state)
{
        uint64_t promisable = cards_promisable_bytes(150754820096, 644939776);

        assert_int_equal(promisable, 149948465152);
        assert_int_equal(promisable % (2 * MIB), 0);
        assert_true(promisable <= UINT64_C(150109880320) - 644939776 / 4);
}

static void a_card_that_keeps_nothing_is_promised_to_the_byte(void **state)
{
        assert_int_equal(cards_promisable_bytes(1000001, 0), 1000001);
        assert_int_equal(cards_promisable_bytes(0, 0), 0);
}

static void what_keeps_more_than_it_has_is_promised_to_nobody(void **state)
{
        assert_int_equal(cards_promisable_bytes(MIB, MIB), 0);
        assert_int_equal(cards_promisable_bytes(MIB, UINT64_MAX), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_a_card_keeps_and_a_quarter_more_is_not_promised),
                cmocka_unit_test(a_card_that_keeps_nothing_is_promised_to_the_byte),
                cmocka_unit_test(what_keeps_more_than_it_has_is_promised_to_nobody),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
