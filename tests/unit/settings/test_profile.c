/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name of a profile is the whole of it: it is understood in full, or refused with what was
 * expected.
 */
#include <errno.h>
#include <string.h>

#include "settings/profile.h"

/* Last: it defines fail(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static struct profile profile;
static struct error err;

static void expect(const char *name, const char *gpu, uint64_t memory_bytes, uint32_t milli,
                   uint8_t priority)
{
        memset(&profile, 0xee, sizeof(profile));
        assert_int_equal(profile_parse(name, &profile, &err), 0);
        assert_string_equal(profile.name, name);
        assert_string_equal(profile.gpu, gpu);
        assert_int_equal(profile.memory_bytes, memory_bytes);
        assert_int_equal(profile.compute_milli_percent, milli);
        assert_int_equal(profile.priority, priority);
}

static void a_name_says_gpu_memory_time_and_class(void **state)
{
        expect("gpu0-4GiB-30", "0", 4 * GIB, 30000, 1);
        expect("gpu0-4GiB-30-rt", "0", 4 * GIB, 30000, 2);
        expect("gpu12-512MiB-12.5-batch", "12", 512 * MIB, 12500, 0);
        expect("4GiB-30", "", 4 * GIB, 30000, 1);
        expect("4GiB-100-normal", "", 4 * GIB, 100000, 1);
        expect("1.5GiB-0.1", "", 1536 * MIB, 100, 1);
        expect("GPU-3f9a1c22-4GiB-30", "GPU-3f9a1c22", 4 * GIB, 30000, 1);
        expect("GPU-3f9a1c22-0000-1111-2222-333344445555-80GiB-50-rt",
               "GPU-3f9a1c22-0000-1111-2222-333344445555", 80 * GIB, 50000, 2);
        expect("MIG-3f9a-2GB-1", "MIG-3f9a", UINT64_C(2000000000), 1000, 1);
}

static void what_a_name_does_not_say_is_refused_with_what_was_expected(void **state)
{
        static const char *const wrong[] = {
                "",
                "rt",
                "30",
                "4GiB",
                "4GiB-",
                "-4GiB-30",
                "4GiB-0",
                "4GiB-0.05",
                "4GiB-101",
                "4GiB-30.0001",
                "0-30",
                "4096-30",
                "4XiB-30",
                "4GiB-30-RT",
                "4GiB-30-fast",
                "gpu-4GiB-30",
                "gpu0x-4GiB-30",
                "card0-4GiB-30",
                "0-4GiB-30",
                "4GiB-30-rt-rt",
                "gpu0--30",
                "gpu0/4GiB-30",
                "../4GiB-30",
                "4GiB-30%",
                "9999999TiB-30",
                "gpu0-4GiB-30-",
                "4GiB--30",
                "gpu0-4GiB 30",
                "GPU-3f9a1c22-0000-1111-2222-333344445555-0000000-4GiB-30-rt-and-more-than-63",
        };

        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                memset(&profile, 0, sizeof(profile));
                memset(&err, 0, sizeof(err));
                assert_int_equal(profile_parse(wrong[i], &profile, &err), -EINVAL);
                assert_non_null(strstr(err.text, "expected"));
                assert_string_equal(profile.name, "");
        }
}

static struct settings_gpus machine(int count)
{
        struct settings_gpus gpus = { .count = count };

        for (int i = 0; i < count; i++) {
                memset(gpus.gpu[i].uuid, 0x11 * (i + 1), 16);
                gpus.gpu[i].card_bytes = 16 * GIB;
        }
        return gpus;
}

static int gpu_of(const char *name, int count)
{
        const struct settings_gpus gpus = machine(count);

        memset(&err, 0, sizeof(err));
        assert_int_equal(profile_parse(name, &profile, &err), 0);
        return profile_gpu(&profile, &gpus, &err);
}

static void a_profile_without_a_gpu_is_for_the_only_one(void **state)
{
        assert_int_equal(gpu_of("4GiB-30", 1), 0);
        assert_int_equal(gpu_of("4GiB-30", 2), -EINVAL);
        assert_non_null(strstr(err.text, "gpu0-4GiB-30"));
        assert_int_equal(gpu_of("4GiB-30", 0), -ENODEV);
        assert_int_equal(gpu_of("4GiB-30", -1), -ENODEV);
}

static void a_list_has_whole_names(void **state)
{
        assert_true(profile_is_in("4GiB-30", "4GiB-30"));
        assert_true(profile_is_in("4GiB-30", " gpu0-4GiB-30,  4GiB-30"));
        assert_false(profile_is_in("4GiB-30", "gpu0-4GiB-30 4GiB-30-rt"));
        assert_false(profile_is_in("4GiB-30", ""));
        assert_false(profile_is_in("4GiB-30", " , "));
}

static void a_gpu_is_found_by_index_or_uuid(void **state)
{
        assert_int_equal(gpu_of("gpu1-4GiB-30", 2), 1);
        assert_int_equal(gpu_of("gpu2-4GiB-30", 2), -ENODEV);
        assert_int_equal(gpu_of("GPU-2222-4GiB-30", 2), 1);
        assert_int_equal(gpu_of("GPU-3333-4GiB-30", 2), -ENODEV);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_name_says_gpu_memory_time_and_class),
                cmocka_unit_test(what_a_name_does_not_say_is_refused_with_what_was_expected),
                cmocka_unit_test(a_profile_without_a_gpu_is_for_the_only_one),
                cmocka_unit_test(a_list_has_whole_names),
                cmocka_unit_test(a_gpu_is_found_by_index_or_uuid),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
