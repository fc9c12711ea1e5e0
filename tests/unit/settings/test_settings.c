/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the user asked is understood exactly, or refused with a line that says what and why.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fixture.h"

#define GIB (UINT64_C(1) << 30)

static void test_nothing_asked_is_nothing(void **state)
{
        struct settings settings;

        assert_int_equal(settings_read(&settings, NULL, NULL), 0);
        assert_false(settings.is_asked);
        assert_int_equal(read_env(&settings, NULL, "PATH=/bin", "HOME=/", "ALIQUOT_LOG=debug",
                                  "ALIQUOT_RUNTIME_DIR=/x", "ALIQUOT_CONTEXT=charge"),
                         0);
        assert_false(settings.is_asked);
        assert_int_equal(settings.log.level, LOG_DEBUG);
        assert_string_equal(settings.runtime_dir, "/x");
}

/* Of a container's share the program says nothing but where to log and who it is. */
static void test_what_is_given_is_not_asked_for(void **state)
{
        char *const words[] = { "ALIQUOT_MEMORY=nonsense",   "ALIQUOT_SESSION=other",
                                "ALIQUOT_MEMROY=1",          "ALIQUOT_LOG=debug",
                                "ALIQUOT_JOIN_TOKEN=secret", NULL };
        char *const nonsense[] = { "ALIQUOT_LOG=nonsense", NULL };
        struct settings settings;

        settings_read_given(&settings, "/given", words);
        assert_true(settings.is_asked);
        assert_string_equal(settings.socket, "/given");
        assert_string_equal(settings.session, "");
        assert_int_equal(settings.memory.count, 0);
        assert_int_equal(settings.log.level, LOG_DEBUG);
        assert_string_equal(settings.token, "secret");
        settings_read_given(&settings, "/given", nonsense);
        assert_true(settings.is_asked);
        assert_int_equal(settings.log.level, LOG_OFF);
        settings_read_given(&settings, "/given", NULL);
        assert_string_equal(settings.token, "");
}

static void test_memory(void **state)
{
        expect_asked("memory=4294967296", "ALIQUOT_MEMORY=4GiB");
        expect_asked("memory=50%", "ALIQUOT_MEMORY=50.000%");
        expect_asked("memory=0=1073741824", "ALIQUOT_MEMORY=0=1GiB");
        expect_asked("memory=4294967296,0=1073741824,2=25%,10=1048576,GPU-3f=7",
                     "ALIQUOT_MEMORY=gpu-3F=7,10=1MiB,2=25%,4GiB,00=1GiB");
        expect_asked("memory=4294967296;context=free;name=A card; with, marks",
                     "ALIQUOT_MEMORY=4GiB", "ALIQUOT_CONTEXT=FREE",
                     "ALIQUOT_DEVICE_NAME=A card; with, marks");
        expect_asked("memory=1073741824,3430f778-77=5,MIG-0=6",
                     "ALIQUOT_MEMORY=3430F778-77=5,mig-0=6,1GiB");
}

static void test_bad_memory_is_refused(void **state)
{
        expect_refused("ALIQUOT_MEMORY=", "is empty", "ALIQUOT_MEMORY=");
        expect_refused("ALIQUOT_MEMORY=lots", "expected a size", "ALIQUOT_MEMORY=lots");
        expect_refused("ALIQUOT_MEMORY=-1GiB", "negative", "ALIQUOT_MEMORY=-1GiB");
        expect_refused("ALIQUOT_MEMORY=0", "zero", "ALIQUOT_MEMORY=0");
        expect_refused("18446744073709551616", "64 bits", "ALIQUOT_MEMORY=18446744073709551616");
        expect_refused("4GiB,8GiB", "two limits without a GPU", "ALIQUOT_MEMORY=4GiB,8GiB");
        expect_refused("0=1G,0=2G", "named twice", "ALIQUOT_MEMORY=0=1G,0=2G");
        expect_refused("0=1G,00=1G", "named twice", "ALIQUOT_MEMORY=0=1G,00=1G");
        expect_refused("GPU-3f", "named twice", "ALIQUOT_MEMORY=GPU-3f=1G,gpu-3F=1G");
        expect_refused("first=1G", "is no GPU", "ALIQUOT_MEMORY=first=1G");
        expect_refused("=1G", "names no GPU", "ALIQUOT_MEMORY==1G");
        expect_refused("0=", "is empty", "ALIQUOT_MEMORY=0=");
        expect_refused("4GiB,", "is empty", "ALIQUOT_MEMORY=4GiB,");
        expect_refused(",4GiB", "is empty", "ALIQUOT_MEMORY=,4GiB");
        expect_refused("0=1=2", "not a number", "ALIQUOT_MEMORY=0=1=2");
        expect_refused("12345=1G", "is no GPU", "ALIQUOT_MEMORY=12345=1G");
        expect_refused("GPU-3f30", "is no GPU",
                       "ALIQUOT_MEMORY=GPU-3f30f778-775a-704c-9090-8b0bb2478114-1=1G");
        /* What a terminal would obey does not reach it. */
        expect_refused("?[2J", "expected", "ALIQUOT_MEMORY=\033[2J");
}

static void test_more_rules_than_there_is_room_for(void **state)
{
        char many[1024] = "ALIQUOT_MEMORY=0=1G";

        for (unsigned i = 1; i <= SETTINGS_RULES; i++)
                sprintf(many + strlen(many), ",%u=1G", i);
        expect_refused("ALIQUOT_MEMORY=", "more than 32 limits", many);
}

static void test_session_names(void **state)
{
        char longest[128] = "ALIQUOT_SESSION=";
        struct settings settings;

        memset(longest + strlen(longest), 'n', PAGE_NAME_BYTES - 1);
        assert_int_equal(read_env(&settings, NULL, longest), 0);
        assert_true(settings.is_asked);
        assert_int_equal(strlen(settings.session), PAGE_NAME_BYTES - 1);
        strcat(longest, "n");
        expect_refused("ALIQUOT_SESSION=", "session name", longest);
        expect_refused("ALIQUOT_SESSION=", "session name", "ALIQUOT_SESSION=");
        expect_refused("ALIQUOT_SESSION=.x", "session name", "ALIQUOT_SESSION=.x");
        expect_refused("ALIQUOT_SESSION=..", "session name", "ALIQUOT_SESSION=..");
        expect_refused("a/b", "session name", "ALIQUOT_SESSION=a/b");
        expect_refused("a b", "session name", "ALIQUOT_SESSION=a b");
}

static void test_the_rest(void **state)
{
        char long_name[200] = "ALIQUOT_DEVICE_NAME=";
        struct settings settings;

        expect_refused("ALIQUOT_CONTEXT=no", "charge or free", "ALIQUOT_CONTEXT=no");
        expect_refused("ALIQUOT_CONTEXT=", "charge or free", "ALIQUOT_CONTEXT=");
        expect_refused("ALIQUOT_RUNTIME_DIR=here", "absolute", "ALIQUOT_RUNTIME_DIR=here");
        expect_refused("ALIQUOT_LOG=loud", "expected error", "ALIQUOT_LOG=loud");
        expect_refused("ALIQUOT_GPU=", "indices or UUIDs", "ALIQUOT_GPU=");
        expect_refused("ALIQUOT_GPU=0,,1", "indices or UUIDs", "ALIQUOT_GPU=0,,1");
        expect_refused("ALIQUOT_GPU=0,0", "named twice", "ALIQUOT_GPU=0,0");
        expect_refused("ALIQUOT_GPU=all", "is no GPU", "ALIQUOT_GPU=all");
        expect_refused("ALIQUOT_DEVICE_NAME=", "1 to 95", "ALIQUOT_DEVICE_NAME=");
        expect_refused("ALIQUOT_DEVICE_NAME=", "control", "ALIQUOT_DEVICE_NAME=a\tb");
        memset(long_name + strlen(long_name), 'n', 96);
        expect_refused("ALIQUOT_DEVICE_NAME=", "1 to 95", long_name);
        assert_int_equal(read_env(&settings, NULL, "ALIQUOT_GPU=1,GPU-3f",
                                  "ALIQUOT_LOG_FILE=/tmp/log", "ALIQUOT_DEVICE_NAME=Card"),
                         0);
        assert_string_equal(settings.gpu, "1,GPU-3f");
        assert_int_equal(settings.log.level, LOG_INFO);
        assert_string_equal(settings.log.path, "/tmp/log");
        assert_true(settings.is_asked);
}

/* Flag, then our variable, then the others' names. */
static void test_precedence(void **state)
{
        char *environment[] = { "ALIQUOT_MEMORY=2GiB", "VCUDA_MEMORY_LIMIT=1g", NULL };
        struct settings_flag flags[] = { { "ALIQUOT_MEMORY", "--memory", "3GiB" },
                                         { "ALIQUOT_SESSION", "--session", NULL },
                                         { NULL } };
        struct settings settings;
        struct error err;

        assert_int_equal(settings_read_flags(&settings, environment, flags, NULL), 0);
        assert_int_equal(settings.memory.rule[0].size.bytes, 3 * GIB);
        assert_string_equal(settings.memory.origin, "--memory");
        assert_int_equal(settings_read(&settings, environment, NULL), 0);
        assert_int_equal(settings.memory.rule[0].size.bytes, 2 * GIB);
        assert_int_equal(settings_read(&settings, environment + 1, NULL), 0);
        assert_int_equal(settings.memory.rule[0].size.bytes, GIB);
        /* The message names what the user typed. */
        flags[0].value = "3Gig";
        assert_true(settings_read_flags(&settings, environment, flags, &err) < 0);
        assert_non_null(strstr(err.text, "--memory 3Gig: "));
}

static void test_compute(void **state)
{
        struct settings settings;

        expect_asked("memory=card;compute=30%", "ALIQUOT_COMPUTE=30");
        expect_asked("memory=card;compute=12.5%", "ALIQUOT_COMPUTE=12.50 %");
        expect_asked("memory=card;compute=33.333%", "ALIQUOT_COMPUTE=33.3330");
        expect_asked("memory=4294967296;compute=100%,0=50%,GPU-3f=0.1%", "ALIQUOT_MEMORY=4GiB",
                     "ALIQUOT_COMPUTE=gpu-3F=0.1%,100,0=50");
        /* All of the time is no cap; only a flag may be there to raise one. */
        expect_asked("memory=card", "ALIQUOT_COMPUTE=100");
        assert_int_equal(settings_read(&settings, (char *[]){ "ALIQUOT_COMPUTE=100", NULL }, NULL),
                         0);
        assert_int_equal(settings.compute.count, 0);
        assert_false(settings.is_asked);
        assert_int_equal(
                settings_read_flags(&settings, NULL,
                                    (struct settings_flag[]){
                                            { "ALIQUOT_COMPUTE", "--compute", "100" }, { NULL } },
                                    NULL),
                0);
        assert_int_equal(settings.compute.count, 1);
}

static void test_bad_compute_is_refused(void **state)
{
        static char *const bad[] = { "",      "x",          "0",     "0%",     "101", "100.1",
                                     "-1",    "nan",        "NaN",   "inf",    "1e1", "0.09",
                                     "50,50", "0=50,00=50", "0=",    "4GiB",   "=50", "card=5",
                                     "50,",   "0x10",       "50 50", "33.3333" };

        for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                char variable[64];

                snprintf(variable, sizeof(variable), "ALIQUOT_COMPUTE=%s", bad[i]);
                expect_refused(variable, "ALIQUOT_COMPUTE", variable);
        }
}

static void test_what_is_not_built_is_refused_not_ignored(void **state)
{
        expect_refused("ALIQUOT_GUARANTEE=10", "need a daemon", "ALIQUOT_GUARANTEE=10");
        expect_refused("ALIQUOT_GUARANTEE=101", "0.1 to 100", "ALIQUOT_GUARANTEE=101");
        expect_refused("ALIQUOT_WEIGHT=2", "need a daemon", "ALIQUOT_WEIGHT=2");
        expect_refused("ALIQUOT_WEIGHT=0", "whole number", "ALIQUOT_WEIGHT=0");
        expect_refused("ALIQUOT_WEIGHT=10001", "whole number", "ALIQUOT_WEIGHT=10001");
        expect_refused("ALIQUOT_WEIGHT=", "whole number", "ALIQUOT_WEIGHT=");
        expect_refused("ALIQUOT_WEIGHT=100000000001", "whole number",
                       "ALIQUOT_WEIGHT=100000000001");
        expect_refused("ALIQUOT_PRIORITY=rt", "need a daemon", "ALIQUOT_PRIORITY=rt");
        expect_refused("ALIQUOT_PRIORITY=high", "rt, normal", "ALIQUOT_PRIORITY=high");
        expect_refused("ALIQUOT_GANG=ranks", "need a daemon", "ALIQUOT_GANG=ranks");
        expect_refused("ALIQUOT_GANG=a b", "a name as sessions have", "ALIQUOT_GANG=a b");
        expect_refused("ALIQUOT_GANG=", "a name as sessions have", "ALIQUOT_GANG=");
        expect_refused("ALIQUOT_OVERSUBSCRIBE=", "8GiB", "ALIQUOT_OVERSUBSCRIBE=");
        expect_refused("ALIQUOT_OVERSUBSCRIBE=1.5", "8GiB", "ALIQUOT_OVERSUBSCRIBE=1.5");
        expect_refused("ALIQUOT_OVERSUBSCRIBE=50%", "8GiB", "ALIQUOT_OVERSUBSCRIBE=50%");
        expect_refused("ALIQUOT_OVERSUBSCRIBE=0=8GiB", "8GiB", "ALIQUOT_OVERSUBSCRIBE=0=8GiB");
        expect_refused("ALIQUOT_TTL=30m", "only a daemon", "ALIQUOT_TTL=30m");
        expect_refused("ALIQUOT_TTL=soon", "duration", "ALIQUOT_TTL=soon");
        /* What asks for nothing is granted. */
        expect_asked("memory=card", "ALIQUOT_COMPUTE=100", "ALIQUOT_GUARANTEE=0%",
                     "ALIQUOT_WEIGHT=100", "ALIQUOT_PRIORITY=normal", "ALIQUOT_GANG=none",
                     "ALIQUOT_OVERSUBSCRIBE=no", "ALIQUOT_TTL=none");
}

static void test_memory_of_the_host(void **state)
{
        expect_asked("memory=card;oversubscribe=yes", "ALIQUOT_OVERSUBSCRIBE=1");
        expect_asked("memory=card;oversubscribe=yes;name=x", "ALIQUOT_OVERSUBSCRIBE=Yes",
                     "ALIQUOT_DEVICE_NAME=x");
        expect_asked("memory=1073741824;oversubscribe=8589934592", "ALIQUOT_OVERSUBSCRIBE=8GiB",
                     "ALIQUOT_MEMORY=1GiB");
}

/* A program that has its environment alone can ask a daemon for the whole card, and for no more. */
static void test_memory_that_is_moved(void **state)
{
        char *told[] = { "ALIQUOT_SWAP=TRUE", NULL };
        char *both[] = { "ALIQUOT_SWAP=1", "CUDA_OVERSUBSCRIBE=true", NULL };
        char text[SETTINGS_CANONICAL_BYTES];
        struct settings settings;
        struct error err = { 0 };

        assert_int_equal(settings_read_flags(&settings, told, NULL, &err), 0);
        assert_true(settings.is_asked && settings.swaps);
        assert_int_equal(settings_canonical(&settings, text, NULL), 0);
        assert_string_equal(text, "memory=card;swap=yes");
        assert_true(settings_is_limit_variable("ALIQUOT_SWAP"));
        assert_int_equal(settings_read_flags(&settings, both, NULL, &err), -EINVAL);
        assert_non_null(strstr(err.text, "ALIQUOT_SWAP=1: contradicts oversubscription"));
        expect_asked("memory=card;swap=yes", "ALIQUOT_SWAP=on");
        expect_refused("ALIQUOT_SWAP=on", "only aliquot run --swap", "ALIQUOT_SWAP=on",
                       "ALIQUOT_MEMORY=1GiB");
        expect_refused("ALIQUOT_SWAP=8GiB", "yes or no", "ALIQUOT_SWAP=8GiB");
        expect_asked("memory=1073741824", "ALIQUOT_SWAP=false", "ALIQUOT_MEMORY=1GiB");
}

/* A limit that is misspelled must not run unlimited. */
/* A program takes what it is given; a command would make another session, unless a flag says which.
 */
static void test_a_session_by_its_socket(void **state)
{
        char *told[] = { "ALIQUOT_SESSION_SOCKET=/run/s/socket", "ALIQUOT_JOIN_TOKEN=t", NULL };
        const struct settings_flag memory[] = { { "ALIQUOT_MEMORY", "--memory", "1GiB" }, { 0 } };
        struct settings settings;
        struct error err = { 0 };

        assert_int_equal(settings_read(&settings, told, &err), 0);
        assert_true(settings.is_asked);
        assert_string_equal(settings.socket, "/run/s/socket");
        assert_string_equal(settings.token, "t");
        assert_int_equal(settings_read_flags(&settings, told, NULL, &err), -EINVAL);
        assert_non_null(strstr(err.text, "without this command"));
        assert_int_equal(settings_read_flags(&settings, told, memory, &err), 0);
        assert_string_equal(settings.socket, "");
        assert_true(settings_is_limit_variable("ALIQUOT_SESSION_SOCKET"));
        expect_refused("ALIQUOT_SESSION_SOCKET", "absolute", "ALIQUOT_SESSION_SOCKET=");
        expect_refused("ALIQUOT_SESSION_SOCKET=a", "absolute", "ALIQUOT_SESSION_SOCKET=a");
        expect_refused("ALIQUOT_SESSION_SOC", "ALIQUOT_SESSION_SOCKET", "ALIQUOT_SESSION_SOC=/a");
}

static void test_slips_of_the_pen(void **state)
{
        expect_refused("ALIQUOT_MEMROY", "ALIQUOT_MEMORY", "ALIQUOT_MEMROY=4GiB");
        expect_refused("ALIQUOT_MEM is", "ALIQUOT_MEMORY", "ALIQUOT_MEM=4GiB");
        expect_refused("ALIQUOT_MEMORY_LIMIT", "ALIQUOT_MEMORY", "ALIQUOT_MEMORY_LIMIT=4GiB");
        expect_refused("aliquot_memory", "ALIQUOT_MEMORY", "aliquot_memory=4GiB");
        expect_refused("ALIQUOT_SESION", "ALIQUOT_SESSION", "ALIQUOT_SESION=x");
        expect_refused("ALIQUOT_GPUS", "ALIQUOT_GPU", "ALIQUOT_GPUS=1");
        expect_refused("ALIQUOT_COMPUT", "ALIQUOT_COMPUTE", "ALIQUOT_COMPUT=1");
        expect_refused("ALIQUOT_DEVICENAME", "ALIQUOT_DEVICE_NAME", "ALIQUOT_DEVICENAME=1");
        expect_refused("ALIQUOT_LOG_FIL is", "ALIQUOT_LOG_FILE", "ALIQUOT_LOG_FIL=/a");
        expect_refused("ALIQUOT_RUNTIMEDIR", "ALIQUOT_RUNTIME_DIR", "ALIQUOT_RUNTIMEDIR=/a");
        expect_refused("ALIQUOT_RUNTIME is", "ALIQUOT_RUNTIME_DIR", "ALIQUOT_RUNTIME=/a");
        expect_refused("ALIQUOT_SIMM", "ALIQUOT_SIM", "ALIQUOT_SIMM=gpus=1");
        expect_refused("ALIQUOT_JOIN_TOKE ", "ALIQUOT_JOIN_TOKEN", "ALIQUOT_JOIN_TOKE=x");
        /* Of several that it may be, the nearest. */
        expect_refused("ALIQUOT_SESSION_SOKET", "ALIQUOT_SESSION_SOCKET",
                       "ALIQUOT_SESSION_SOKET=/a");
        expect_refused("ALIQUOT_SESSION_ID", "mean ALIQUOT_SESSION", "ALIQUOT_SESSION_ID=x");
        expect_refused("ALIQUOT_SESSION_SOCKETS_OF_ALL", "ALIQUOT_SESSION",
                       "ALIQUOT_SESSION_SOCKETS_OF_ALL=x");
        /* What only begins like ours is none of our business: Kubernetes makes such names of a
         * service that is called aliquot. */
        expect_asked("memory=card", "ALIQUOT_SERVICE_HOST=10.0.0.1", "ALIQUOT_PORT=tcp://x",
                     "ALIQUOT_PORT_80_TCP_ADDR=x", "ALIQUOT_SIM=gpus=2", "ALIQUOT_REAL_LIBCUDA=/x",
                     "ALIQUOT_REAL_LIBNVML=/x", "ALIQUOT_LOG=off", "ALIQUOT_=x",
                     "ALIQUOT_LOG_PORT=tcp://x", "ALIQUOT_SIM_LOG=1", "ALIQUOT_SIM_SERVICE_HOST=x",
                     "ALIQUOT_A_VERY_LONG_NAME_THAT_GOES_ON=1");
}

static void test_names_for_a_child_to_lose(void **state)
{
        static const char *const lost[] = { "ALIQUOT_MEMORY",
                                            "ALIQUOT_SESSION",
                                            "ALIQUOT_GPU",
                                            "ALIQUOT_COMPUTE",
                                            "VCUDA_MEMORY_LIMIT",
                                            "TENSOR_FUSION_CUDA_MEM_LIMIT",
                                            "TENSOR_FUSION_CUDA_UP_LIMIT",
                                            "CUDA_DEVICE_MEMORY_LIMIT",
                                            "CUDA_DEVICE_MEMORY_LIMIT_0",
                                            "CUDA_DEVICE_SM_LIMIT_1",
                                            "GPUSLICE_SESSION",
                                            "GPUSLICE_DEFAULT_TTL",
                                            "ALIQUOT_TTL",
                                            "NVSHARE_ENABLE_SINGLE_OVERSUB" };
        static const char *const kept[] = { "ALIQUOT_LOG",          "ALIQUOT_RUNTIME_DIR",
                                            "ALIQUOT_SIM",          "PATH",
                                            "CUDA_VISIBLE_DEVICES", "VCUDA_LOG_LEVEL",
                                            "ALIQUOT_MEMORYX" };

        for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++)
                assert_true(settings_is_limit_variable(lost[i]));
        for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
                assert_false(settings_is_limit_variable(kept[i]));
}

/* Equal settings share, whatever the spelling; anything else does not. */
static void test_the_name_that_limits_have(void **state)
{
        struct settings settings;
        char a[PAGE_NAME_BYTES], b[PAGE_NAME_BYTES];

        assert_int_equal(read_env(&settings, NULL, "ALIQUOT_MEMORY=4GiB,0=1024KiB"), 0);
        assert_int_equal(settings_name(&settings, 1000, a, NULL), 0);
        assert_memory_equal(a, "env-", 4);
        assert_int_equal(settings_check_name("", a, NULL), 0);
        assert_int_equal(read_env(&settings, NULL, "ALIQUOT_MEMORY=0=1M,4096M"), 0);
        assert_int_equal(settings_name(&settings, 1000, b, NULL), 0);
        assert_string_equal(a, b);
        assert_int_equal(settings_name(&settings, 1001, b, NULL), 0);
        assert_string_not_equal(a, b);
        assert_int_equal(read_env(&settings, NULL, "ALIQUOT_MEMORY=0=1M,4097M"), 0);
        assert_int_equal(settings_name(&settings, 1000, b, NULL), 0);
        assert_string_not_equal(a, b);
        assert_int_equal(read_env(&settings, NULL, "ALIQUOT_MEMORY=4G", "ALIQUOT_SESSION=x"), 0);
        assert_int_equal(settings_name(&settings, 1000, b, NULL), 0);
        assert_string_equal(b, "x");
}

static void test_limits_that_take_too_much_room(void **state)
{
        char many[2048] = "ALIQUOT_MEMORY=";
        struct settings settings;
        char text[SETTINGS_CANONICAL_BYTES] = "before";
        struct error err;

        for (unsigned i = 0; i < 32; i++)
                sprintf(many + strlen(many), "%sGPU-%08x-775a-704c-9090-8b0bb2478114=1G",
                        i ? "," : "", i);
        assert_int_equal(read_env(&settings, NULL, many), 0);
        assert_int_equal(settings_canonical(&settings, text, &err), -E2BIG);
        assert_string_equal(text, "before");
}

/* The same words, in units that say them exactly. */
static void test_limits_for_people(void **state)
{
        static const struct {
                const char *canonical, *shown;
        } cases[] = {
                { "", "" },
                { "memory=4294967296", "memory=4GiB" },
                { "memory=1610612736;compute=30%;context=free",
                  "memory=1536MiB;compute=30%;context=free" },
                { "memory=25%,0=1048576,GPU-775a704c-9090-704c-9090-8b0bb2478114=1000000000",
                  "memory=25%,0=1MiB,GPU-775a704c-9090-704c-9090-8b0bb2478114=1000000000" },
                { "compute=50%,0=10%", "compute=50%,0=10%" },
        };
        char shown[SETTINGS_CANONICAL_BYTES];

        for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
                assert_string_equal(settings_shown(cases[i].canonical, shown, sizeof(shown)),
                                    cases[i].shown);
        assert_string_equal(settings_shown("memory=4294967296", shown, 8), "memory=");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_nothing_asked_is_nothing),
                cmocka_unit_test(test_what_is_given_is_not_asked_for),
                cmocka_unit_test(test_memory),
                cmocka_unit_test(test_bad_memory_is_refused),
                cmocka_unit_test(test_more_rules_than_there_is_room_for),
                cmocka_unit_test(test_session_names),
                cmocka_unit_test(test_the_rest),
                cmocka_unit_test(test_precedence),
                cmocka_unit_test(test_compute),
                cmocka_unit_test(test_bad_compute_is_refused),
                cmocka_unit_test(test_what_is_not_built_is_refused_not_ignored),
                cmocka_unit_test(test_memory_of_the_host),
                cmocka_unit_test(test_memory_that_is_moved),
                cmocka_unit_test(test_a_session_by_its_socket),
                cmocka_unit_test(test_slips_of_the_pen),
                cmocka_unit_test(test_names_for_a_child_to_lose),
                cmocka_unit_test(test_the_name_that_limits_have),
                cmocka_unit_test(test_limits_that_take_too_much_room),
                cmocka_unit_test(test_limits_for_people),
        };

        return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
