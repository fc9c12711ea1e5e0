/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of handles: the newest of a key is found first, nothing is lost when it grows, and a
 * record stays where it is.
 */
#include "shim/cuda/state/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define MANY 20000u

struct record {
        struct table_link link;
        uint64_t value;
};

static struct record *put(struct handle_table *table, uint64_t key, uint64_t value)
{
        struct record *record = table_make(table, sizeof(*record));

        assert_non_null(record);
        record->link.key = key;
        record->value = value;
        table_put(table, record);
        return record;
}

static void an_empty_table_has_nothing(void **unused)
{
        struct handle_table table = { 0 };

        (void)unused;
        assert_null(table_find(&table, 0));
        assert_null(table_each(&table, NULL));
}

static void the_newest_of_a_key_is_first(void **unused)
{
        struct handle_table table = { 0 };
        struct record *old = put(&table, 7, 1);
        struct record *new = put(&table, 7, 2);

        (void)unused;
        put(&table, 8, 3);
        assert_ptr_equal(table_find(&table, 7), new);
        assert_ptr_equal(table_next(new), old);
        assert_null(table_next(old));
        table_remove(&table, new);
        assert_ptr_equal(table_find(&table, 7), old);
        table_free(&table, new);
        table_remove(&table, old);
        assert_null(table_find(&table, 7));
}

static void records_stay_while_it_grows(void **unused)
{
        static struct record *records[MANY];
        struct handle_table table = { 0 };

        (void)unused;
        for (uint64_t i = 0; i < MANY; i++)
                records[i] = put(&table, i * 4096, i);
        for (uint64_t i = 0; i < MANY; i += 2) {
                table_remove(&table, records[i]);
                table_free(&table, records[i]);
        }
        for (uint64_t i = 0; i < MANY; i++) {
                if (i % 2)
                        assert_ptr_equal(table_find(&table, i * 4096), records[i]);
                else
                        assert_null(table_find(&table, i * 4096));
        }
        assert_int_equal(table.used, MANY / 2);
}

static void order_of_a_key_survives_growth(void **unused)
{
        struct handle_table table = { 0 };
        struct record *old = put(&table, 42, 1);
        struct record *new = put(&table, 42, 2);

        (void)unused;
        for (uint64_t i = 0; i < MANY; i++)
                put(&table, 1000 + i, i);
        assert_ptr_equal(table_find(&table, 42), new);
        assert_ptr_equal(table_next(new), old);
}

static void each_visits_every_record_once(void **unused)
{
        struct handle_table table = { 0 };
        uint64_t sum = 0;
        unsigned count = 0;

        (void)unused;
        for (uint64_t i = 1; i <= 3000; i++)
                put(&table, i * 977, i);
        for (struct record *record = table_each(&table, NULL); record;
             record = table_each(&table, record)) {
                sum += record->value;
                count++;
        }
        assert_int_equal(count, 3000);
        assert_int_equal(sum, 3000 * 3001 / 2);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(an_empty_table_has_nothing),
                cmocka_unit_test(the_newest_of_a_key_is_first),
                cmocka_unit_test(records_stay_while_it_grows),
                cmocka_unit_test(order_of_a_key_survives_growth),
                cmocka_unit_test(each_visits_every_record_once),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
