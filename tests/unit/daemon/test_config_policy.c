/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sections of the config that say who may take what: read exactly, or refused with the place,
 * the section, the key and what was expected. `unit-daemon-config_policy --table` prints the keys
 * as docs/daemon-config.md lists them.
 */
#include "daemon/config/config_policy.h"

#include "config_fixture.h"

static int read_text(const char *text)
{
        config_init(&config);
        memset(&report, 0, sizeof(report));
        return config_read_text(&config, "a.conf", text, strlen(text), &report);
}

static const struct policy_rule *rule_of(const char *section)
{
        char named[CONFIG_POLICY_NAME_BYTES];

        for (unsigned i = 0; i < config.rules.count; i++) {
                config_policy_section(&config.rules.rule[i], named);
                if (strcmp(named, section) == 0)
                        return &config.rules.rule[i];
        }
        fail_msg("no rule of [%s]", section);
        return NULL;
}

static void expect_said(const char *section, const char *name, const char *value)
{
        char text[CONFIG_POLICY_TEXT_BYTES];
        const struct policy_rule *rule = rule_of(section);
        const struct config_policy_key *key = config_policy_find(name);

        assert_true(rule->said & UINT32_C(1) << key->key);
        assert_string_equal(config_policy_format(key, rule, text), value);
}

static void expect_refused(const char *text, const char *line)
{
        char expected[1024];

        assert_int_equal(read_text(text), -EINVAL);
        snprintf(expected, sizeof(expected), "%s\n", line);
        assert_string_equal(report.text, expected);
        assert_int_equal(report.count, 1);
}

/* -- Stories ---------------------------------------------------------------------------------- */

/* A config that says nothing keeps who is not trusted from what others would miss. */
static void test_everybody_has_a_rule_of_which_each_default_is_read_back(void **state)
{
        assert_int_equal(read_text(""), 0);
        assert_int_equal(config.rules.count, 1);
        expect_said("policy", "memory_in_all", "100%");
        expect_said("policy", "guarantee_in_all", "25%");
        expect_said("policy", "priority", "normal");
        expect_said("policy", "weight", "100");
        for (unsigned i = 0; i < POLICY_KEYS; i++) {
                const struct config_policy_key *key = &config_policy_keys[i];

                assert_ptr_equal(config_policy_of(key->key), key);
                assert_ptr_equal(config_policy_find(policy_key_name(key->key)), key);
                assert_true(!key->standard != !key->instead);
                if (key->standard)
                        expect_said("policy", policy_key_name(key->key), key->standard);
        }
}

static void test_values_of_every_key_arrive(void **state)
{
        assert_int_equal(read_text("[policy]\nmemory = 25%\npriority = batch\n"
                                   "[policy user 1000]\nmemory = 1.5GiB\nmemory_in_all = any\n"
                                   "compute = 50%\nguarantee_in_all = 200%\nweight = 10000\n"
                                   "priority = rt\nsessions = 0\nttl = 1h30m\nswap = no\n"
                                   "gpus = GPU-7D0E, GPU-12345678-9abc-d\n"),
                         0);
        expect_said("policy", "memory", "25%");
        expect_said("policy", "priority", "batch");
        expect_said("policy", "memory_in_all", "100%");
        assert_int_equal(rule_of("policy user 1000")->id, 1000);
        expect_said("policy user 1000", "memory", "1536MiB");
        expect_said("policy user 1000", "memory_in_all", "any");
        expect_said("policy user 1000", "compute", "50%");
        expect_said("policy user 1000", "guarantee_in_all", "200%");
        expect_said("policy user 1000", "weight", "10000");
        expect_said("policy user 1000", "priority", "rt");
        expect_said("policy user 1000", "sessions", "0");
        expect_said("policy user 1000", "ttl", "90m");
        expect_said("policy user 1000", "swap", "no");
        expect_said("policy user 1000", "gpus", "GPU-7d0e, GPU-12345678-9abc-d");
        assert_int_equal(rule_of("policy user 1000")->gpu[0].digits, 4);
        assert_int_equal(rule_of("policy user 1000")->gpu[0].uuid[0], 0x7d);
        assert_int_equal(rule_of("policy user 1000")->gpu[1].digits, 13);
        assert_int_equal(rule_of("policy user 1000")->gpu[1].uuid[6], 0xd0);
}

static void test_users_and_groups_are_found_by_name_or_number(void **state)
{
        assert_int_equal(
                read_text("[policy user root]\nweight = 1\n[policy group root]\nweight = 2\n"
                          "[policy group 50]\nweight = 3\n[policy profile 4GiB-30]\n"
                          "weight = 4\n"),
                0);
        assert_int_equal(rule_of("policy user root")->kind, POLICY_USER);
        assert_int_equal(rule_of("policy user root")->id, 0);
        assert_int_equal(rule_of("policy group root")->kind, POLICY_GROUP);
        assert_int_equal(rule_of("policy group 50")->id, 50);
        assert_int_equal(rule_of("policy profile 4GiB-30")->kind, POLICY_PROFILE);
        expect_refused("[policy user no-such-user]\nweight = 1\n",
                       "a.conf:2: [policy user no-such-user]: there is no user no-such-user");
        expect_refused("[policy group no-such-group]\nweight = 1\n",
                       "a.conf:2: [policy group no-such-group]: there is no group no-such-group");
}

static void test_what_is_no_such_section_is_refused(void **state)
{
        static const char *const sections[] = { "policy user", "policy users a", "policy user a b",
                                                "policy users", "policy group" };
        char text[128], line[256];

        for (unsigned i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
                snprintf(text, sizeof(text), "[%s]\nweight = 1\n", sections[i]);
                snprintf(line, sizeof(line),
                         "a.conf:2: [%s]: expected [policy], or [policy user NAME], [policy group "
                         "NAME] or [policy profile NAME]",
                         sections[i]);
                expect_refused(text, line);
        }
}

/* inih would cut it, and the rule would be another's. */
static void test_a_name_that_would_be_cut_is_refused(void **state)
{
        expect_refused("[policy profile a23456789012345678901234567890123456789012345678]\n"
                       "weight = 1\n",
                       "a.conf:2: [policy profile a234567890123456789012345678901234]: the name is "
                       "too long; of a user or group, say its number");
        assert_int_equal(read_text("[policy profile a2345678901234567890123456789012]\n"
                                   "weight = 1\n"),
                         0);
}

static void test_a_bad_value_is_named_with_its_place_and_what_was_expected(void **state)
{
        static const struct {
                const char *name, *value;
        } bad[] = {
                { "memory", "8GB8" },
                { "memory", "1700%" },
                { "memory", "" },
                { "compute", "0%" },
                { "compute", "101%" },
                { "compute", "any" },
                { "guarantee_in_all", "5" },
                { "guarantee_in_all", "1601%" },
                { "weight", "0" },
                { "weight", "10001" },
                { "priority", "high" },
                { "priority", "any" },
                { "sessions", "4097" },
                { "sessions", "-1" },
                { "ttl", "0" },
                { "ttl", "none" },
                { "swap", "any" },
                { "gpus", "0" },
                { "gpus", "GPU-" },
                { "gpus", "GPU-xy" },
                { "gpus", "" },
        };
        char text[128], line[512];

        for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                snprintf(text, sizeof(text), "[policy user 7]\n%s = %s\n", bad[i].name,
                         bad[i].value);
                snprintf(line, sizeof(line), "a.conf:2: [policy user 7] %s = %s: expected %s",
                         bad[i].name, bad[i].value, config_policy_find(bad[i].name)->expected);
                expect_refused(text, line);
        }
}

static void test_a_key_is_known_said_once_and_not_one_of_admission(void **state)
{
        expect_refused("[policy user 7]\nweight = 1\nweight = 2\n",
                       "a.conf:3: [policy user 7] weight = 2: is said a second time");
        expect_refused("[policy user 7]\nweight = 1\n[policy user 7]\nweight = 2\n",
                       "a.conf:4: [policy user 7] weight = 2: is said a second time");
        expect_refused("[policy]\nmemry = 1GiB\n",
                       "a.conf:2: [policy] memry: no such key; expected one of memory, "
                       "memory_in_all, compute, guarantee_in_all, weight, priority, gpus, swap");
        expect_refused("[policy]\nsessions = 4\n",
                       "a.conf:2: [policy] sessions: of everybody this is said by "
                       "admission.sessions_per_owner");
        expect_refused("[policy]\nttl = 4h\n",
                       "a.conf:2: [policy] ttl: of everybody this is said by admission.ttl_most");
}

static void test_there_is_an_end_to_rules(void **state)
{
        char text[4096] = "";
        size_t used = 0;

        for (unsigned i = 0; i < POLICY_RULES_MAX; i++)
                used += (size_t)snprintf(text + used, sizeof(text) - used,
                                         "[policy user %u]\nweight = 1\n", i + 1);
        expect_refused(text, "a.conf:128: [policy user 64]: there are more than 64 sections of "
                             "policy");
}

static void test_what_is_printed_reads_back_to_the_same(void **state)
{
        static char text[CONFIG_FILE_MAX];
        static struct policy before;
        FILE *stream;

        assert_int_equal(
                read_text("[policy]\nmemory = 4GiB\n[policy user 7]\nttl = 1d\nswap = yes\n"
                          "gpus = GPU-ab\n[policy group 8]\nmemory_in_all = 150%\n"),
                0);
        before = config.rules;
        stream = fmemopen(text, sizeof(text), "w");
        config_print(stream, &config);
        fclose(stream);
        assert_int_equal(read_text(text), 0);
        assert_memory_equal(&config.rules, &before, sizeof(before));
}

static void test_a_reload_takes_the_rules_whole(void **state)
{
        static struct config fresh;

        assert_int_equal(read_text("[policy user 8]\nweight = 8\n"), 0);
        fresh = config;
        assert_int_equal(read_text("[policy user 7]\nweight = 7\n"), 0);
        assert_int_equal(config_reload(&config, &fresh, &report), 0);
        assert_memory_equal(&config.rules, &fresh.rules, sizeof(fresh.rules));
}

/* The rows of the manual. */
static void print_row(char *ret, size_t bytes, const struct config_policy_key *key)
{
        snprintf(ret, bytes, "| `[policy%s] %s` | %s | `%s` | yes | %s |",
                 key->standard ? "" : " user NAME", policy_key_name(key->key), key->expected,
                 key->standard ? key->standard : key->instead, key->meaning);
}

static void test_the_manual_lists_every_key_as_the_table_does(void **state)
{
        static char manual[CONFIG_FILE_MAX];
        FILE *file = fopen(SOURCE_ROOT "/docs/daemon-config.md", "r");
        char row[1024];

        assert_non_null(file);
        assert_true(fread(manual, 1, sizeof(manual) - 1, file) > 0);
        fclose(file);
        for (unsigned i = 0; i < POLICY_KEYS; i++) {
                print_row(row, sizeof(row), &config_policy_keys[i]);
                if (!strstr(manual, row))
                        fail_msg("docs/daemon-config.md has no such row: %s", row);
        }
}

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_everybody_has_a_rule_of_which_each_default_is_read_back),
                cmocka_unit_test(test_values_of_every_key_arrive),
                cmocka_unit_test(test_users_and_groups_are_found_by_name_or_number),
                cmocka_unit_test(test_what_is_no_such_section_is_refused),
                cmocka_unit_test(test_a_name_that_would_be_cut_is_refused),
                cmocka_unit_test(test_a_bad_value_is_named_with_its_place_and_what_was_expected),
                cmocka_unit_test(test_a_key_is_known_said_once_and_not_one_of_admission),
                cmocka_unit_test(test_there_is_an_end_to_rules),
                cmocka_unit_test(test_what_is_printed_reads_back_to_the_same),
                cmocka_unit_test(test_a_reload_takes_the_rules_whole),
                cmocka_unit_test(test_the_manual_lists_every_key_as_the_table_does),
        };
        char row[1024];

        if (argc > 1 && strcmp(argv[1], "--table") == 0) {
                for (unsigned i = 0; i < POLICY_KEYS; i++) {
                        print_row(row, sizeof(row), &config_policy_keys[i]);
                        puts(row);
                }
                return 0;
        }
        return cmocka_run_group_tests(tests, NULL, NULL);
}
