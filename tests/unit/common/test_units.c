/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Amounts are exact or refused: nothing is clipped, rounded up, or taken for zero.
 */
#include <errno.h>
#include <locale.h>
#include <string.h>

#include "common/units.h"

/* Last: it defines fail(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define GIB (UINT64_C(1) << 30)

struct good {
        const char *text;
        uint64_t bytes;
        uint32_t micro_percent;
};

static void test_sizes_mean_what_they_say(void **state)
{
        static const struct good table[] = {
                { "1", 1, 0 },
                { "17B", 17, 0 },
                { "4GiB", 4 * GIB, 0 },
                { "4gib", 4 * GIB, 0 },
                { "4G", 4 * GIB, 0 },
                { "4 GiB", 4 * GIB, 0 },
                { "4Ki", 4096, 0 },
                { "1.5Mi", UINT64_C(3) << 19, 0 },
                { "4gi", 4 * GIB, 0 },
                { "4 Ti", UINT64_C(4) << 40, 0 },
                { "4GB", UINT64_C(4000000000), 0 },
                { "1KB", 1000, 0 },
                { "1k", 1024, 0 },
                { "1TB", UINT64_C(1000000000000), 0 },
                { "1TiB", UINT64_C(1) << 40, 0 },
                { "1.5GiB", GIB + GIB / 2, 0 },
                { "0.1GiB", 107374182, 0 },
                { "0.1KiB", 102, 0 },
                { "18446744073709551614", UINT64_MAX - 1, 0 },
                { "50%", 0, 50000000 },
                { "33.333333%", 0, 33333333 },
                { "12.50 %", 0, 12500000 },
                { "100%", 0, 100000000 },
                { "0.000001%", 0, 1 },
        };

        for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
                struct size size = { 0 };
                int rc = size_parse(table[i].text, &size, NULL);

                if (rc != 0)
                        fail_msg("'%s' was refused", table[i].text);
                assert_int_equal(size.bytes, table[i].bytes);
                assert_int_equal(size.micro_percent, table[i].micro_percent);
        }
}

static void test_bad_sizes_are_refused_and_quoted(void **state)
{
        static const char *const table[] = {
                "",
                " ",
                "0",
                "0GiB",
                "0%",
                "0.0G",
                "-1",
                "-4GiB",
                "+4GiB",
                "4GiBx",
                "4Gi B",
                "4iB",
                "4i",
                "4X",
                "GiB",
                "4..5G",
                ".5G",
                "5.G",
                "1e9",
                "0x1000",
                "4,5G",
                "4GiB ",
                " 4GiB",
                "nan",
                "inf",
                "1.5",
                "1.5B",
                "101%",
                "100.0001%",
                "-5%",
                "%",
                "5%%",
                "5% 5",
                "4GiB4",
                "18446744073709551615",
                "18446744073709551616",
                "99999999999999999999999",
                "16777216TiB",
                "20000000TB",
                "0.0000000001K",
                "0.0000001%",
                "\xd9\xa4GiB",
                "16777215.999999999999999999TiB",
                "0.0009313225746154785156GiB", /* more digits than are kept */
        };

        for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
                struct size size = { .bytes = 77, .micro_percent = 78 };
                struct error err = { 0 };
                int rc = size_parse(table[i], &size, &err);

                if (rc >= 0)
                        fail_msg("'%s' was taken for %llu bytes", table[i],
                                 (unsigned long long)size.bytes);
                assert_int_equal(rc, err.code);
                assert_non_null(strstr(err.text, "expected"));
                /* Outputs are untouched on failure. */
                assert_int_equal(size.bytes, 77);
                assert_int_equal(size.micro_percent, 78);
        }
}

static void test_what_is_typed_has_a_unit(void **state)
{
        static const char *const bad[] = { "4", "1048575", "4 ", "007\t", "0", "lots" };
        static const struct good good[] = {
                { "1048576", 1048576, 0 },
                { "4B", 4, 0 },
                { "4 k", 4096, 0 },
                { "4%", 0, 4000000 },
        };
        struct size size = { 0 };

        for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
                assert_int_equal(size_parse_typed(good[i].text, &size, NULL), 0);
                assert_int_equal(size.bytes, good[i].bytes);
                assert_int_equal(size.micro_percent, good[i].micro_percent);
        }
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                struct error err = { 0 };

                assert_true(size_parse_typed(bad[i], &size, &err) < 0);
                assert_non_null(strstr(err.text, "expected a size such as 4GiB"));
                assert_non_null(strstr(err.text, "B, KiB MiB GiB TiB, KB MB GB TB, %"));
        }
}

/* A decimal comma is the locale's business, not ours. */
static void test_sizes_do_not_depend_on_the_locale(void **state)
{
        struct size size;

        if (!setlocale(LC_ALL, "de_DE.UTF-8"))
                setlocale(LC_ALL, "C.UTF-8");
        assert_int_equal(size_parse("1.5GiB", &size, NULL), 0);
        assert_int_equal(size.bytes, GIB + GIB / 2);
        assert_true(size_parse("1,5GiB", &size, NULL) < 0);
        setlocale(LC_ALL, "C");
}

static void test_binary_dialect(void **state)
{
        static const struct good good[] = {
                { "1", 1, 0 },
                { "10g", 10 * GIB, 0 },
                { "10G", 10 * GIB, 0 },
                { "10gb", 10 * GIB, 0 },
                { "10Gi", 10 * GIB, 0 },
                { "512m", 512u << 20, 0 },
                { "512MB", 512u << 20, 0 },
                { "7k", 7168, 0 },
                { "9 bytes", 9, 0 },
                { "9byte", 9, 0 },
                { "2t", UINT64_C(2) << 40, 0 },
        };
        static const char *const bad[] = { "",         "0",    "-1",  "1.5g",
                                           "10x",      "10gg", "ten", "g",
                                           "0g",       "1e3",  "10%", "18446744073709551616",
                                           "99999999t" };
        uint64_t bytes;

        for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
                assert_int_equal(bytes_parse_binary(good[i].text, &bytes, NULL), 0);
                assert_int_equal(bytes, good[i].bytes);
        }
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                bytes = 5;
                if (bytes_parse_binary(bad[i], &bytes, NULL) >= 0)
                        fail_msg("'%s' was accepted", bad[i]);
                assert_int_equal(bytes, 5);
        }
}

/* The document of the system that this comes from shows a product in brackets. */
static void test_products(void **state)
{
        static const char *const good[] = {
                "10*1024*1024*1024",
                "(1024 * 1024 * 1024 * 10)",
                "( 10*1024 *1024* 1024 )",
                "10737418240",
                "10g",
                " (10737418240) ",
        };
        static const char *const bad[] = {
                "(10*1024",
                "10*1024)",
                "10**2",
                "*10",
                "10*",
                "()",
                "(10*0)",
                "10*-1",
                "10*1g",
                "10+10",
                "((10))",
                "(10)x",
                "(10)(10)",
                "0*5",
                "18446744073709551615*2",
                "4294967296*4294967296",
                "18446744073709551615*1",
        };
        uint64_t bytes;

        for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
                if (bytes_parse_product(good[i], &bytes, NULL) != 0)
                        fail_msg("'%s' was refused", good[i]);
                assert_int_equal(bytes, 10 * GIB);
        }
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                if (bytes_parse_product(bad[i], &bytes, NULL) >= 0)
                        fail_msg("'%s' was accepted", bad[i]);
        }
}

static void test_part_of_a_card_is_rounded_down_to_2_mib(void **state)
{
        struct size third = { .micro_percent = 33333333 };
        struct size all = { .micro_percent = SIZE_MICRO_PERCENT_MAX };
        struct size sliver = { .micro_percent = 1 };
        struct size plain = { .bytes = 12345 };
        uint64_t bytes;

        assert_int_equal(size_resolve(&third, 16 * GIB, &bytes, NULL), 0);
        assert_int_equal(bytes % SIZE_GRAIN_BYTES, 0);
        assert_true(bytes <= 16 * GIB / 3 && bytes + SIZE_GRAIN_BYTES > 16 * GIB / 100 * 33);
        assert_int_equal(size_resolve(&all, 16 * GIB, &bytes, NULL), 0);
        assert_int_equal(bytes, 16 * GIB);
        /* A plain size keeps its last byte. */
        assert_int_equal(size_resolve(&plain, 16 * GIB, &bytes, NULL), 0);
        assert_int_equal(bytes, 12345);
        /* Nothing left, no card known, more than the card: no limit is made of these. */
        assert_true(size_resolve(&sliver, 16 * GIB, &bytes, NULL) < 0);
        assert_true(size_resolve(&third, 0, &bytes, NULL) < 0);
        assert_int_equal(size_resolve(&plain, 0, &bytes, NULL), 0);
        plain.bytes = 16 * GIB + 1;
        assert_true(size_resolve(&plain, 16 * GIB, &bytes, NULL) < 0);
}

static void test_percent(void **state)
{
        static const char *const bad[] = { "", "-1", "101", "1e2", "50%%", "x", "0.0000001" };
        uint32_t micro;

        assert_int_equal(percent_parse("50", &micro, NULL), 0);
        assert_int_equal(micro, 50000000);
        assert_int_equal(percent_parse("12.5 %", &micro, NULL), 0);
        assert_int_equal(micro, 12500000);
        assert_int_equal(percent_parse("0", &micro, NULL), 0);
        assert_int_equal(micro, 0);
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                assert_true(percent_parse(bad[i], &micro, NULL) < 0);
}

static void test_durations(void **state)
{
        static const struct good good[] = {
                { "30", UINT64_C(30000000000), 0 },     { "250ms", 250000000, 0 },
                { "1.5h", UINT64_C(5400000000000), 0 }, { "1h30m", UINT64_C(5400000000000), 0 },
                { "2d", UINT64_C(172800000000000), 0 }, { "5ns", 5, 0 },
        };
        static const char *const bad[] = { "",  "0",    "0s",   "-5s",  "5x",
                                           "s", "1h30", "5 s5", "1e3s", "300000d" };
        uint64_t ns;

        for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
                if (duration_parse(good[i].text, &ns, NULL) != 0)
                        fail_msg("'%s' was refused", good[i].text);
                assert_int_equal(ns, good[i].bytes);
        }
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                if (duration_parse(bad[i], &ns, NULL) >= 0)
                        fail_msg("'%s' was accepted", bad[i]);
        }
}

/* What is printed for people is never more than the truth, and what is printed for machines is it.
 */
static void test_a_duration_is_told_in_its_two_largest_units(void **state)
{
        static const struct {
                uint64_t seconds;
                const char *text;
        } table[] = { { 0, "0s" },        { 59, "59s" },       { 60, "1m00s" },
                      { 185, "3m05s" },   { 3599, "59m59s" },  { 7620, "2h07m" },
                      { 86400, "1d00h" }, { 435600, "5d01h" }, { 18446744072, "213503d23h" } };
        char text[DURATION_TEXT_BYTES];

        for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
                assert_string_equal(
                        duration_format(table[i].seconds * UINT64_C(1000000000) + 999999999, text),
                        table[i].text);
}

static void test_formats(void **state)
{
        static const struct {
                uint64_t bytes;
                const char *text;
        } table[] = {
                { 0, "0 B" },
                { 1023, "1023 B" },
                { 1024, "1 KiB" },
                { 1536, "1.50 KiB" },
                { 4 * GIB, "4 GiB" },
                { 4 * GIB - 1, "3.99 GiB" },
                { GIB + 1, "1.00 GiB" },
                { UINT64_MAX, "16777215.99 TiB" },
        };
        static const char *const same[] = { "1",    "4294967296", "50%", "33.333333%",
                                            "0.5%", "0.000001%",  "100%" };
        char text[SIZE_TEXT_BYTES];
        struct size size;

        for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
                assert_string_equal(size_format(table[i].bytes, text), table[i].text);
        for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
                assert_int_equal(size_parse(same[i], &size, NULL), 0);
                assert_string_equal(size_canonical(&size, text), same[i]);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sizes_mean_what_they_say),
                cmocka_unit_test(test_bad_sizes_are_refused_and_quoted),
                cmocka_unit_test(test_what_is_typed_has_a_unit),
                cmocka_unit_test(test_sizes_do_not_depend_on_the_locale),
                cmocka_unit_test(test_binary_dialect),
                cmocka_unit_test(test_products),
                cmocka_unit_test(test_part_of_a_card_is_rounded_down_to_2_mib),
                cmocka_unit_test(test_percent),
                cmocka_unit_test(test_durations),
                cmocka_unit_test(test_formats),
                cmocka_unit_test(test_a_duration_is_told_in_its_two_largest_units),
        };

        return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
