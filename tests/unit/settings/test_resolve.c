/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules meet a machine: every GPU gets exactly the limit that was meant for it, or none is made.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "settings/resolve.h"
#include "settings/settings.h"

/* Last: it defines fail(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define GIB (UINT64_C(1) << 30)

/* Three cards of 16 GiB, the second cut into an instance of 5 GiB; two UUIDs begin alike. */
static struct settings_gpus machine(void)
{
        struct settings_gpus gpus = { .count = 4 };
        static const uint8_t first[] = { 0x34, 0x3f, 0x55, 0x99 };

        for (int i = 0; i < 4; i++) {
                memset(gpus.gpu[i].uuid, 0x11 * (i + 1), 16);
                gpus.gpu[i].uuid[0] = first[i];
                gpus.gpu[i].card_bytes = 16 * GIB;
        }
        gpus.gpu[2].is_instance = true;
        gpus.gpu[2].card_bytes = 5 * GIB;
        return gpus;
}

static struct settings asked(const char *memory)
{
        char variable[1024];
        struct settings settings;
        struct error err;

        snprintf(variable, sizeof(variable), "%s", memory);
        if (settings_read(&settings, (char *[]){ variable, NULL }, &err) < 0)
                fail_msg("%s", err.text);
        return settings;
}

static void expect_limits(const char *memory, const uint64_t limits[4])
{
        struct settings settings = asked(memory);
        struct settings_gpus gpus = machine();
        struct settings_limits seen;
        struct error err;

        if (settings_resolve(&settings, &gpus, &seen, &err) < 0)
                fail_msg("%s: %s", memory, err.text);
        assert_int_equal(seen.count, 4);
        for (unsigned i = 0; i < 4; i++) {
                assert_memory_equal(seen.device[i].uuid, gpus.gpu[i].uuid, 16);
                assert_int_equal(seen.device[i].limit_bytes, limits[i]);
        }
}

static void expect_refused(const char *memory, int code, const char *word)
{
        struct settings settings = asked(memory);
        struct settings_gpus gpus = machine();
        struct settings_limits seen;
        struct error err;
        int rc = settings_resolve(&settings, &gpus, &seen, &err);

        if (rc != code || !strstr(err.text, word))
                fail_msg("%s: %d, expected %d and '%s' in: %s", memory, rc, code, word,
                         rc < 0 ? err.text : "");
}

#define NONE PAGE_UNLIMITED

static void test_each_gpu_gets_its_own(void **state)
{
        expect_limits("ALIQUOT_MEMORY=4GiB", (uint64_t[]){ 4 * GIB, 4 * GIB, 4 * GIB, 4 * GIB });
        expect_limits("ALIQUOT_MEMORY=0=4GiB", (uint64_t[]){ 4 * GIB, NONE, NONE, NONE });
        /* An index counts cards, not instances. */
        expect_limits("ALIQUOT_MEMORY=2=4GiB", (uint64_t[]){ NONE, NONE, NONE, 4 * GIB });
        expect_limits("ALIQUOT_MEMORY=MIG-5=1GiB", (uint64_t[]){ NONE, NONE, GIB, NONE });
        expect_limits("ALIQUOT_MEMORY=2GiB,3F=4GiB,GPU-34=8GiB",
                      (uint64_t[]){ 8 * GIB, 4 * GIB, 2 * GIB, 2 * GIB });
        expect_limits("ALIQUOT_MEMORY=50%,1=25%",
                      (uint64_t[]){ 8 * GIB, 4 * GIB, 5 * GIB / 2, 8 * GIB });
}

static void test_unknown_ambiguous_and_repeated_gpus(void **state)
{
        expect_refused("ALIQUOT_MEMORY=3=1GiB", -ENODEV, "there is no GPU '3'");
        expect_refused("ALIQUOT_MEMORY=GPU-aa=1GiB", -ENODEV, "0 = GPU-34");
        expect_refused("ALIQUOT_MEMORY=MIG-34=1GiB", -ENODEV, "there is no GPU");
        expect_refused("ALIQUOT_MEMORY=GPU-3=1GiB", -ENOTUNIQ, "could be GPU-34");
        expect_refused("ALIQUOT_MEMORY=0=1GiB,GPU-34=1GiB", -EINVAL, "the same GPU");
        expect_refused("ALIQUOT_MEMORY=GPU-34=1GiB,GPU-3411=1GiB", -EINVAL, "the same GPU");
}

/* The system that it comes from lets one GPU be named both ways; but it has one limit. */
static void test_json_may_name_a_gpu_both_ways(void **state)
{
        expect_limits("TENSOR_FUSION_CUDA_MEM_LIMIT={\"0\": 5, \"gpu-34\": 5}",
                      (uint64_t[]){ 5, NONE, NONE, NONE });
        expect_refused("TENSOR_FUSION_CUDA_MEM_LIMIT={\"0\": 5, \"gpu-34\": 6}", -EINVAL,
                       "the same GPU");
}

static void test_more_than_the_card(void **state)
{
        expect_refused("ALIQUOT_MEMORY=17GiB", -ERANGE, "more than the card has, which is 16 GiB");
        /* The instance is the smallest card. */
        expect_refused("ALIQUOT_MEMORY=6GiB", -ERANGE, "which is 5 GiB");
        expect_refused("ALIQUOT_MEMORY=0=17179869185", -ERANGE, "GPU GPU-34");
        expect_limits("ALIQUOT_MEMORY=0=17179869184", (uint64_t[]){ 16 * GIB, NONE, NONE, NONE });
}

static void test_a_machine_that_could_not_be_asked(void **state)
{
        struct settings_gpus unknown = { .count = -1 };
        struct settings_limits limits;
        struct settings settings = asked("ALIQUOT_MEMORY=4GiB");
        uint64_t bytes;

        /* One limit for whatever shows up can still be kept, */
        assert_int_equal(settings_resolve(&settings, &unknown, &limits, NULL), 0);
        assert_int_equal(limits.count, 0);
        assert_int_equal(limits.default_bytes, 4 * GIB);
        assert_int_equal(settings_resolve_default(&limits, 16 * GIB, &bytes, NULL), 0);
        assert_int_equal(bytes, 4 * GIB);
        assert_true(settings_resolve_default(&limits, 2 * GIB, &bytes, NULL) < 0);
        settings = asked("ALIQUOT_MEMORY=50%");
        assert_int_equal(settings_resolve(&settings, &unknown, &limits, NULL), 0);
        assert_int_equal(settings_resolve_default(&limits, 16 * GIB, &bytes, NULL), 0);
        assert_int_equal(bytes, 8 * GIB);
        assert_true(settings_resolve_default(&limits, 0, &bytes, NULL) < 0);
        /* but not one for a certain GPU. */
        settings = asked("ALIQUOT_MEMORY=0=4GiB");
        assert_int_equal(settings_resolve(&settings, &unknown, &limits, NULL), -ENODEV);
        settings = asked("ALIQUOT_MEMORY=1GiB,0=4GiB");
        assert_int_equal(settings_resolve(&settings, &unknown, &limits, NULL), -ENODEV);
}

static void test_more_gpus_than_rows(void **state)
{
        struct settings_gpus gpus = { .count = 40 };
        struct settings settings = asked("ALIQUOT_MEMORY=8GiB,39=1GiB");
        struct settings_limits limits;

        for (int i = 0; i < gpus.count; i++)
                gpus.gpu[i] =
                        (struct settings_gpu){ .uuid = { (uint8_t)i, 7 }, .card_bytes = 16 * GIB };
        assert_int_equal(settings_resolve(&settings, &gpus, &limits, NULL), 0);
        assert_int_equal(limits.count, PAGE_DEVICES);
        assert_int_equal(limits.device[0].uuid[0], 39);
        assert_int_equal(limits.device[0].limit_bytes, GIB);
        assert_int_equal(limits.device[1].uuid[0], 0);
}

/* Each was asked for: to leave one out would be to lift it in silence. */
static void test_more_gpus_with_a_limit_of_their_own_than_rows_are_refused(void **state)
{
        struct settings_gpus gpus = { .count = 40 };
        char said[256] = "ALIQUOT_MEMORY=0=1GiB";
        struct settings_limits limits = { .count = 99 };
        struct settings settings;

        for (int i = 0; i < gpus.count; i++)
                gpus.gpu[i] =
                        (struct settings_gpu){ .uuid = { (uint8_t)i, 7 }, .card_bytes = 16 * GIB };
        for (unsigned i = 1; i < PAGE_DEVICES; i++)
                sprintf(said + strlen(said), ",%u=1GiB", i);
        settings = asked(said);
        assert_int_equal(settings_resolve(&settings, &gpus, &limits, NULL), 0);
        assert_int_equal(limits.count, PAGE_DEVICES);
        strcat(said, ",16=1GiB");
        settings = asked(said);
        limits.count = 99;
        assert_int_equal(settings_resolve(&settings, &gpus, &limits, NULL), -E2BIG);
        assert_int_equal(limits.count, 99);
}

static void test_selecting(void **state)
{
        static const char *const bad[] = { "",  "0,", ",0",    "0,0", "0,GPU-34",
                                           "9", "x",  "GPU-3", "0 1" };
        struct settings_gpus gpus = machine();
        struct settings_selection picked = { .count = 99 };

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                if (settings_select(bad[i], &gpus, &picked, NULL) >= 0)
                        fail_msg("'%s' was accepted", bad[i]);
                assert_int_equal(picked.count, 99);
        }
        assert_int_equal(settings_select("2,gpu-3F,MIG-55", &gpus, &picked, NULL), 0);
        assert_int_equal(picked.count, 3);
        assert_int_equal(picked.at[0], 3);
        assert_int_equal(picked.at[1], 1);
        assert_int_equal(picked.at[2], 2);
}

/* Apart from memory: one may name a GPU that the other does not. */
static void test_caps_on_compute(void **state)
{
        struct settings settings = asked("ALIQUOT_COMPUTE=40,1=12.5%,MIG-55=100");
        struct settings_gpus gpus = machine();
        const uint32_t caps[] = { 400000, 125000, PAGE_WHOLE_PPM, 400000 };
        struct settings_selection first = { .count = 1, .at = { 0 } };
        struct settings_limits seen;
        struct error err;

        assert_int_equal(settings_resolve(&settings, &gpus, &seen, NULL), 0);
        assert_true(seen.has_default_cap && !seen.has_default);
        assert_int_equal(seen.default_cap_ppm, 400000);
        for (unsigned i = 0; i < 4; i++) {
                assert_int_equal(seen.device[i].cap_ppm, caps[i]);
                assert_int_equal(seen.device[i].limit_bytes, PAGE_UNLIMITED);
                assert_int_equal(seen.device[i].is_cap_named, i == 1 || i == 2);
        }
        settings = asked("ALIQUOT_COMPUTE=1=12.5%");
        assert_int_equal(settings_resolve(&settings, &gpus, &seen, NULL), 0);
        assert_int_equal(seen.device[0].cap_ppm, PAGE_WHOLE_PPM);
        assert_true(settings_check_selected(&settings, &gpus, &first, &seen, &err) < 0);
        assert_non_null(strstr(err.text, "ALIQUOT_COMPUTE 1=12.5%: limits none of the chosen"));
        settings = asked("ALIQUOT_COMPUTE=7=50");
        assert_true(settings_resolve(&settings, &gpus, &seen, &err) < 0);
        assert_non_null(strstr(err.text, "ALIQUOT_COMPUTE: there is no GPU '7'"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_each_gpu_gets_its_own),
                cmocka_unit_test(test_unknown_ambiguous_and_repeated_gpus),
                cmocka_unit_test(test_json_may_name_a_gpu_both_ways),
                cmocka_unit_test(test_more_than_the_card),
                cmocka_unit_test(test_a_machine_that_could_not_be_asked),
                cmocka_unit_test(test_more_gpus_than_rows),
                cmocka_unit_test(test_more_gpus_with_a_limit_of_their_own_than_rows_are_refused),
                cmocka_unit_test(test_selecting),
                cmocka_unit_test(test_caps_on_compute),
        };

        return cmocka_run_group_tests_name("resolve", tests, NULL, NULL);
}
