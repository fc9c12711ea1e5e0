/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemon was told is understood exactly or refused with the place, the key, the value
 * and what was expected. `unit-daemon-config --table` prints the keys as docs/daemon-config.md
 * lists them.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "daemon/base/address.h"
#include "daemon/config/config_keys.h"

#include "config_fixture.h"

static int read_text(const char *text)
{
        config_init(&config);
        memset(&report, 0, sizeof(report));
        return config_read_text(&config, "a.conf", text, strlen(text), &report);
}

static void expect_good(const char *text)
{
        if (read_text(text) < 0 || config_check(&config, &report) < 0)
                fail_msg("%s: %s", text, report.text);
        assert_string_equal(report.text, "");
}

/* One mistake, and its line in the report is this. */
static void expect_refused(const char *text, const char *line)
{
        char expected[1024];

        read_text(text);
        config_check(&config, &report);
        snprintf(expected, sizeof(expected), "%s\n", line);
        assert_string_equal(report.text, expected);
        assert_int_equal(report.count, 1);
}

static void test_the_defaults_are_those_of_the_table(void **state)
{
        expect_good("");
        assert_string_equal(config.http_address, "");
        assert_int_equal(config.log_level, LOG_INFO);
        assert_int_equal(config.socket_mode, 0600);
        assert_int_equal(config.body_bytes_max, 64 << 10);
        assert_int_equal(config.request_timeout_ns, 10000000000);
        assert_int_equal(config.policy.overcommit, SESSIONS_STRICT);
        assert_int_equal(config.policy.ratio_percent, 100);
        assert_int_equal(config.policy.ttl_ns, 0);
        assert_int_equal(config.audit_rows, 100000);
        assert_false(config.is_remote_allowed);
        assert_true(config_key_count <= CONFIG_KEYS_MAX);
}

static void test_every_default_is_a_value_that_the_key_takes_and_gives_back(void **state)
{
        char text[CONFIG_PATH_BYTES];

        for (size_t i = 0; i < config_key_count; i++) {
                const struct config_key *key = &config_keys[i];

                config_init(&config);
                assert_int_equal(config_key_parse(key, key->standard, &config), 0);
                assert_string_equal(config_key_format(key, &config, text, sizeof(text)),
                                    key->standard);
                assert_ptr_equal(config_key_find(key->section, key->name), key);
                assert_true(key->meaning[0] && !strchr(key->meaning, '\n'));
        }
}

static void test_values_of_every_type_arrive(void **state)
{
        expect_good("# a comment\n"
                    "[daemon]\nruntime_dir = /run/x\nlog=debug ; another\n"
                    "[http]\naddress = [::1]:80\ntoken_file = /etc/t\ntoken_required = yes\n"
                    "max_body = 1.5MiB\nidle_timeout = 1h30m\n"
                    "[socket]\nmode = 0660\ngroup = staff\n"
                    "[admission]\novercommit = ratio\nratio = 150%\nreserve = 512MiB\n"
                    "choice = least-loaded\nttl = 2h\nttl_most = 1d\non_end = kill\ngrace = none\n"
                    "sessions_per_owner = 4\n"
                    "[watch]\nstrangers = kill\nmanaged_cgroups = /kubepods.slice, /gpu/jobs\n"
                    "forged = report\ntolerance = 512MiB\nclaims = off\n"
                    "claims_tolerance = 25%\n"
                    "[profiles]\nnames = gpu0-4GiB-30, 4GiB-30-rt\nwait = 5m\n"
                    "[metrics]\nsessions = yes\n[audit]\nkeep_days = 7\nkeep_rows = 0\n");
        assert_string_equal(config.runtime_dir, "/run/x");
        assert_int_equal(config.log_level, LOG_DEBUG);
        assert_string_equal(config.http_address, "[::1]:80");
        assert_true(config.is_token_required);
        assert_int_equal(config.body_bytes_max, 3 << 19);
        assert_int_equal(config.idle_timeout_ns, 5400000000000);
        assert_int_equal(config.socket_mode, 0660);
        assert_string_equal(config.socket_group, "staff");
        assert_int_equal(config.policy.overcommit, SESSIONS_RATIO);
        assert_int_equal(config.policy.ratio_percent, 150);
        assert_int_equal(config.policy.reserve_bytes, 512 << 20);
        assert_int_equal(config.policy.choice, SESSIONS_LEAST_LOADED);
        assert_int_equal(config.policy.ttl_ns, 7200000000000);
        assert_int_equal(config.policy.ttl_max_ns, 86400000000000);
        assert_int_equal(config.policy.ending, SESSIONS_KILL);
        assert_int_equal(config.policy.grace_ns, 0);
        assert_int_equal(config.policy.owner_max, 4);
        assert_int_equal(config.watch.strangers, WATCH_KILL);
        assert_int_equal(config.watch.forged, WATCH_REPORT);
        assert_int_equal(config.watch.tolerance_bytes, 512 << 20);
        assert_true(config.claims.is_off);
        assert_int_equal(config.claims.tolerance_percent, 25);
        assert_string_equal(config.managed_cgroups, "/kubepods.slice, /gpu/jobs");
        assert_string_equal(config.profiles, "gpu0-4GiB-30, 4GiB-30-rt");
        assert_int_equal(config.profiles_wait_ns, 300000000000);
        assert_true(config.has_session_metrics);
        assert_int_equal(config.audit_days, 7);
        assert_int_equal(config.audit_rows, 0);
}

static void test_a_bad_value_is_named_with_its_place_and_what_was_expected(void **state)
{
        expect_refused(
                "[http]\nmax_body = 12x\n",
                "a.conf:2: http.max_body = 12x: expected a size such as 64KiB, 1KiB to 16MiB");
        expect_refused("[http]\n\nidle_timeout = none\n",
                       "a.conf:3: http.idle_timeout = none: expected a duration such as 30s or "
                       "1h30m, 1s to 1d");
        expect_refused("[profiles]\nnames = 4GiB-30 large\n",
                       "a.conf:2: profiles.names = 4GiB-30 large: expected shares such as "
                       "gpu0-4GiB-30 or 4GiB-30-rt, each once, or nothing");
        expect_refused("[profiles]\nnames = 4GiB-30 gpu0-4GiB-30,4GiB-30\n",
                       "a.conf:2: profiles.names = 4GiB-30 gpu0-4GiB-30,4GiB-30: expected shares "
                       "such as gpu0-4GiB-30 or 4GiB-30-rt, each once, or nothing");
        expect_refused("[watch]\nmanaged_cgroups = /a, b\n",
                       "a.conf:2: watch.managed_cgroups = /a, b: expected cgroups such as "
                       "/kubepods.slice, separated by commas, or nothing");
        expect_refused("[daemon]\nlog = loud\n",
                       "a.conf:2: daemon.log = loud: expected off, error, warn, info or debug");
        expect_refused("[admission]\nratio = 99\n",
                       "a.conf:2: admission.ratio = 99: expected a percentage without decimals, "
                       "100% to 10000%");
        expect_refused(
                "[admission]\nreserve = 10%\n",
                "a.conf:2: admission.reserve = 10%: expected a size such as 64KiB, 0 to 1TiB");
        expect_refused("[metrics]\nsessions = maybe\n",
                       "a.conf:2: metrics.sessions = maybe: expected yes or no");
        expect_refused("[socket]\nmode = 0066\n",
                       "a.conf:2: socket.mode = 0066: expected an octal mode such as 0660 that "
                       "lets its owner in, 0600 to 0777");
        expect_refused("[daemon]\nstate_dir = here\n",
                       "a.conf:2: daemon.state_dir = here: expected the absolute path of a folder, "
                       "or nothing");
        expect_refused("[audit]\nkeep_rows = -1\n",
                       "a.conf:2: audit.keep_rows = -1: expected a whole number, 0 to 1000000000");
        expect_refused("[audit]\nkeep_rows = 18446744073709551616\n",
                       "a.conf:2: audit.keep_rows = 18446744073709551616: expected a whole number, "
                       "0 to 1000000000");
        expect_refused("[http]\naddress = localhost\n",
                       "a.conf:2: http.address = localhost: expected " ADDRESS_EXPECTED
                       ", or nothing");
}

static void test_a_word_of_an_older_version_is_read_with_one_warning(void **state)
{
        static const struct {
                const char *word, *now;
        } former[] = {
                { "clamp", "report" },
                { "kill", "report" },
                { "term", "report" },
                { "ignore", "off" },
        };
        char text[64], line[128];

        for (size_t i = 0; i < sizeof(former) / sizeof(former[0]); i++) {
                snprintf(text, sizeof(text), "[watch]\nclaims = %s\n", former[i].word);
                snprintf(line, sizeof(line),
                         "a.conf:2: watch.claims = %s: warning: this is a word of older versions, "
                         "read as %s\n",
                         former[i].word, former[i].now);
                assert_int_equal(read_text(text), 0);
                assert_int_equal(config_check(&config, &report), 0);
                assert_string_equal(report.text, line);
                assert_int_equal(config.claims.is_off, strcmp(former[i].now, "off") == 0);
        }
        read_text("[watch]\nforged = clamp\n");
        assert_string_equal(report.text, "");
}

static void test_what_is_not_a_known_key_is_refused_with_those_there_are(void **state)
{
        expect_refused("[audit]\nkeep_day = 1\n",
                       "a.conf:2: [audit] keep_day = 1: no such key; expected one of keep_days, "
                       "keep_rows");
        expect_refused("[htttp]\nrate = 1\n",
                       "a.conf:2: [htttp] rate = 1: no such key; expected one of [daemon], [http], "
                       "[socket], [join], [profiles], [admission], [default], [swap], "
                       "[watch], [compute], [metrics], [audit], [policy]");
        expect_refused("rate = 1\n",
                       "a.conf:1: [] rate = 1: no such key; expected one of [daemon], [http], "
                       "[socket], [join], [profiles], [admission], [default], [swap], "
                       "[watch], [compute], [metrics], [audit], [policy]");
        expect_refused("[audit]\nkeep_days = 1\nkeep_days = 1\n",
                       "a.conf:3: audit.keep_days = 1: is said a second time");
        /* An indented line would be more of the value before it. */
        expect_refused("[audit]\nkeep_days = 1\n  keep_rows = 5\n",
                       "a.conf:3: audit.keep_days = keep_rows = 5: is said a second time");
        expect_refused("[audit]\nkeep_days\n",
                       "a.conf:2: expected [section], key = value, or a # comment");
        expect_refused("[audit\n", "a.conf:1: expected [section], key = value, or a # comment");
}

static void test_all_mistakes_are_told_at_once(void **state)
{
        assert_int_equal(read_text("[audit]\nkeep_days = x\nkeep_rows = y\n[http]\nrate = z\n"),
                         -EINVAL);
        assert_int_equal(report.count, 3);
        assert_non_null(strstr(report.text, "a.conf:2: audit.keep_days = x"));
        assert_non_null(strstr(report.text, "a.conf:3: audit.keep_rows = y"));
        assert_non_null(strstr(report.text, "a.conf:5: http.rate = z"));
}

static void test_more_mistakes_than_fit_end_with_a_whole_line(void **state)
{
        static char text[CONFIG_FILE_MAX];
        size_t used = 0;

        while (used + 64 < sizeof(text))
                used += (size_t)snprintf(text + used, sizeof(text) - used, "[http]\nrate = x\n");
        assert_int_equal(read_text(text), -EINVAL);
        assert_true(report.count > 1000);
        assert_true(strlen(report.text) > sizeof(report.text) / 2);
        assert_int_equal(report.text[strlen(report.text) - 1], '\n');
}

static void test_what_a_terminal_could_take_amiss_is_not_repeated(void **state)
{
        assert_int_equal(read_text("[http]\nrate = \033[2J\n"), -EINVAL);
        assert_null(strchr(report.text, '\033'));
        memset(&report, 0, sizeof(report));
        assert_int_equal(config_read_text(&config, "a.conf", "[http]\nra\0te = 1\n", 17, &report),
                         -EINVAL);
        assert_string_equal(report.text, "a.conf: is not a text: it holds a NUL character\n");
}

static void test_a_line_that_would_be_cut_is_refused(void **state)
{
        char text[512] = "[daemon]\nstate_dir = /";

        memset(text + strlen(text), 'x', 300);
        assert_int_equal(read_text(text), -EINVAL);
        assert_non_null(strstr(report.text, "a.conf:2: is longer than"));
        assert_string_equal(config.state_dir, "");
}

static void test_other_machines_are_let_in_only_on_purpose_and_with_the_token(void **state)
{
        expect_good("[http]\naddress = 127.8.9.1:1\n");
        expect_refused(
                "[http]\naddress = 0.0.0.0:80\n",
                "a.conf:2: http.address = 0.0.0.0:80: other machines could reach it; expected a "
                "loopback address, or http.allow_remote = yes");
        expect_refused("[http]\naddress = [::]:80\n",
                       "a.conf:2: http.address = [::]:80: other machines could reach it; expected "
                       "a loopback address, or http.allow_remote = yes");
        expect_good("[http]\naddress = [::ffff:127.0.0.1]:80\n");
        expect_refused(
                "[http]\naddress = [::ffff:10.0.0.1]:80\n",
                "a.conf:2: http.address = [::ffff:10.0.0.1]:80: other machines could reach it; "
                "expected a loopback address, or http.allow_remote = yes");
        expect_refused("[http]\naddress = 10.0.0.1:80\nallow_remote = yes\ntoken_file = /t\n",
                       "a.conf:2: http.address = 10.0.0.1:80: with http.allow_remote, expected "
                       "http.token_file, and http.token_required = yes");
        expect_good("[http]\naddress = 10.0.0.1:80\nallow_remote = yes\ntoken_file = /t\n"
                    "token_required = yes\n");
}

static void test_keys_that_contradict_each_other_are_refused(void **state)
{
        expect_refused("[http]\ntoken_required = yes\n",
                       "a.conf:2: http.token_required = yes: expected http.token_file as well");
        expect_refused("[admission]\nttl = 2h\nttl_most = 1h\n",
                       "a.conf:2: admission.ttl = 2h: is longer than admission.ttl_most");
        /* By whoever said it last, and not by a key that was refused for itself. */
        read_text("[admission]\nttl = 1h\nttl_most = 2h\n");
        config_set(&config, "admission.ttl", "3h", "GPUSLICE_DEFAULT_TTL", &report);
        assert_int_equal(config_check(&config, &report), -EINVAL);
        assert_string_equal(report.text, "GPUSLICE_DEFAULT_TTL: admission.ttl = 3h: is longer than "
                                         "admission.ttl_most\n");
        expect_refused("[http]\ntoken_required = yes\ntoken_file = here\n",
                       "a.conf:3: http.token_file = here: expected the absolute path of a file, or "
                       "nothing");
}

/* A session that does not say how long it lives gets the most: core/sessions.h. */
static void test_the_longest_ttl_alone_bounds_who_says_none(void **state)
{
        expect_good("[admission]\nttl_most = 1h\n");
        assert_null(sessions_check_policy(&config.policy));
        expect_good("[admission]\nttl = none\nttl_most = 1h\n");
}

static void test_addresses_are_numbers_with_a_port(void **state)
{
        static const char *const bad[] = { "",
                                           ":1",
                                           "127.0.0.1",
                                           "127.0.0.1:",
                                           "127.0.0.1:65536",
                                           "127.0.0.1:1x",
                                           "::1:80",
                                           "[::1]80",
                                           "[::1:80",
                                           "127.1:80",
                                           "[127.0.0.1]:80",
                                           "127.0.0.1:000080",
                                           "[]:1",
                                           "[::1%lo]:1",
                                           "localhost:80" };
        struct address address;
        struct error err;

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                if (address_parse(bad[i], &address, &err) != -EINVAL)
                        fail_msg("%s was taken", bad[i]);
        }
        assert_int_equal(address_parse("127.0.0.1:0", &address, &err), 0);
        assert_true(address_is_loopback(&address));
        assert_int_equal(address_parse("[2001:db8::1]:65535", &address, &err), 0);
        assert_false(address_is_loopback(&address));
}

/* config_print() of this config, into a buffer that the next call overwrites. */
static const char *printed(const struct config *from)
{
        static char text[CONFIG_FILE_MAX];
        FILE *stream = fmemopen(text, sizeof(text), "w");

        assert_non_null(stream);
        config_print(stream, from);
        assert_int_equal(fclose(stream), 0);
        return text;
}

static void test_what_is_printed_reads_back_to_the_same(void **state)
{
        struct config first;

        expect_good("[daemon]\nlog = warn\n[admission]\nttl = 90s\nreserve = 1025MiB\n"
                    "[http]\naddress = 127.0.0.1:0\nmax_body = 1025\nidle_timeout = 1500ms\n"
                    "[socket]\nmode = 0666\n[metrics]\nsessions = 1\n");
        first = config;
        expect_good(printed(&first));
        assert_memory_equal(&config, &first, offsetof(struct config, places));
        assert_non_null(strstr(printed(&first), "\nlog = warn\n"));
        assert_non_null(strstr(printed(&first), "\n#keep_days = 90\n"));
        /* A default that is taken out of its comment stays the default. */
        config_init(&first);
        char *text = strdup(printed(&first));
        for (char *at = text; (at = strstr(at, "\n#")); at++) {
                if (at[2] != ' ')
                        memmove(at + 1, at + 2, strlen(at + 1));
        }
        assert_non_null(strstr(text, "\nkeep_days = 90\n"));
        expect_good(text);
        assert_memory_equal(&config, &first, offsetof(struct config, places));
        free(text);
}

static void test_a_reload_takes_what_may_change_and_names_the_rest(void **state)
{
        struct config running;

        expect_good("[http]\nrate = 1\n");
        running = config;
        expect_good("[http]\nrate = 2\naddress = 127.0.0.1:1\n[admission]\nttl = 1h\n");
        assert_int_equal(config_reload(&running, &config, &report), 1);
        assert_int_equal(running.rate_per_second, 2);
        assert_int_equal(running.policy.ttl_ns, 3600000000000);
        assert_string_equal(running.http_address, "");
        assert_string_equal(report.text,
                            "http.address stays '' until a restart; the file says '127.0.0.1:1'\n");
        memset(&report, 0, sizeof(report));
        assert_int_equal(config_reload(&running, &running, &report), 0);
        assert_string_equal(report.text, "");
}

static void expect_file_refused(const char *word)
{
        memset(&report, 0, sizeof(report));
        config_init(&config);
        assert_true(config_read_file(&config, path, &report) < 0);
        if (!strstr(report.text, word))
                fail_msg("expected '%s' in: %s", word, report.text);
}

static void test_only_a_file_that_nobody_else_can_write_is_read(void **state)
{
        char link[80];

        memset(&report, 0, sizeof(report));
        config_init(&config);
        assert_int_equal(config_read_file(&config, path, &report), 0);
        assert_int_equal(config.rate_per_second, 5);
        /* Through a link: what it leads to counts. */
        snprintf(link, sizeof(link), "%s.link", path);
        assert_int_equal(symlink(path, link), 0);
        assert_int_equal(config_read_file(&config, link, &report), 0);
        assert_int_equal(unlink(link), 0);
        assert_int_equal(chmod(path, 0664), 0);
        expect_file_refused("can be written by others");
        assert_int_equal(chmod(path, 0644), 0);
        if (geteuid() == 0) {
                assert_int_equal(chown(path, 12345, 0), 0);
                expect_file_refused("belongs to user 12345");
                assert_int_equal(chown(path, 0, 0), 0);
        }
        assert_int_equal(truncate(path, CONFIG_FILE_MAX + 1), 0);
        expect_file_refused("more than");
        assert_int_equal(unlink(path), 0);
        expect_file_refused("No such file");
        assert_int_equal(mkfifo(path, 0600), 0);
        expect_file_refused("not a plain file");
}

/* The rows of the manual. */
static void print_row(char *ret, size_t bytes, const struct config_key *key)
{
        char expected[256];

        snprintf(ret, bytes, "| `%s.%s` | %s | `%s` | %s | %s |", key->section, key->name,
                 config_key_expected(key, expected, sizeof(expected)),
                 key->standard[0] ? key->standard : " ", key->is_reloadable ? "yes" : "no",
                 key->meaning);
}

static char *read_source(const char *name)
{
        char source[512];
        char *text = calloc(1, CONFIG_FILE_MAX + 1);

        snprintf(source, sizeof(source), "%s/%s", SOURCE_ROOT, name);
        FILE *file = fopen(source, "r");
        assert_non_null(file);
        assert_true(fread(text, 1, CONFIG_FILE_MAX, file) > 0);
        fclose(file);
        return text;
}

static void test_the_manual_lists_every_key_as_the_table_does(void **state)
{
        char *manual = read_source("docs/daemon-config.md");
        char row[1024];

        for (size_t i = 0; i < config_key_count; i++) {
                print_row(row, sizeof(row), &config_keys[i]);
                if (!strstr(manual, row))
                        fail_msg("docs/daemon-config.md has no such row: %s", row);
        }
        free(manual);
}

static void test_the_file_that_is_installed_is_what_is_printed(void **state)
{
        static const char licence[] = "# SPDX-License-Identifier: Apache-2.0\n";
        char *installed = read_source("deploy/aliquotd.conf");

        config_init(&config);
        assert_memory_equal(installed, licence, strlen(licence));
        assert_string_equal(installed + strlen(licence), printed(&config));
        free(installed);
}

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_the_defaults_are_those_of_the_table),
                cmocka_unit_test(test_every_default_is_a_value_that_the_key_takes_and_gives_back),
                cmocka_unit_test(test_values_of_every_type_arrive),
                cmocka_unit_test(test_a_bad_value_is_named_with_its_place_and_what_was_expected),
                cmocka_unit_test(test_a_word_of_an_older_version_is_read_with_one_warning),
                cmocka_unit_test(test_what_is_not_a_known_key_is_refused_with_those_there_are),
                cmocka_unit_test(test_all_mistakes_are_told_at_once),
                cmocka_unit_test(test_more_mistakes_than_fit_end_with_a_whole_line),
                cmocka_unit_test(test_what_a_terminal_could_take_amiss_is_not_repeated),
                cmocka_unit_test(test_a_line_that_would_be_cut_is_refused),
                cmocka_unit_test(test_other_machines_are_let_in_only_on_purpose_and_with_the_token),
                cmocka_unit_test(test_keys_that_contradict_each_other_are_refused),
                cmocka_unit_test(test_the_longest_ttl_alone_bounds_who_says_none),
                cmocka_unit_test(test_addresses_are_numbers_with_a_port),
                cmocka_unit_test(test_what_is_printed_reads_back_to_the_same),
                cmocka_unit_test(test_a_reload_takes_what_may_change_and_names_the_rest),
                cmocka_unit_test_setup_teardown(test_only_a_file_that_nobody_else_can_write_is_read,
                                                fresh_file, drop_file),
                cmocka_unit_test(test_the_manual_lists_every_key_as_the_table_does),
                cmocka_unit_test(test_the_file_that_is_installed_is_what_is_printed),
        };
        char row[1024];

        if (argc > 1 && strcmp(argv[1], "--table") == 0) {
                for (size_t i = 0; i < config_key_count; i++) {
                        print_row(row, sizeof(row), &config_keys[i]);
                        puts(row);
                }
                return 0;
        }
        if (argc > 1 && strcmp(argv[1], "--file") == 0) {
                config_init(&config);
                config_print(stdout, &config);
                return 0;
        }
        return cmocka_run_group_tests(tests, NULL, NULL);
}
