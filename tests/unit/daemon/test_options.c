/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flags beat the file, the file that was asked for must be there, and a user's daemon has places
 * of its own.
 */
#include <sys/wait.h>

#include "daemon/base/address.h"
#include "daemon/options.h"

#include "config_fixture.h"

static void parse_options(struct options *ret, char **argv)
{
        int argc = 0;

        while (argv[argc])
                argc++;
        options_parse(argc, argv, ret);
}

/* The exit status of a command line that does not come back. */
static int status_of(char *argument, FILE *said)
{
        char *argv[] = { "aliquotd", argument, NULL };
        struct options options;
        pid_t child = fork();
        int status;

        if (child == 0) {
                dup2(fileno(said), STDOUT_FILENO);
                dup2(fileno(said), STDERR_FILENO);
                parse_options(&options, argv);
                _exit(99);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        return WEXITSTATUS(status);
}

static void test_a_wrong_command_line_is_told_from_questions(void **state)
{
        char line[80] = "";
        FILE *said = tmpfile();

        assert_int_equal(status_of("--version", said), 0);
        rewind(said);
        assert_non_null(fgets(line, sizeof(line), said));
        assert_int_equal(strncmp(line, "aliquotd ", 9), 0);
        assert_int_equal(status_of("--help", said), 0);
        assert_int_equal(status_of("--frob", said), OPTIONS_WRONG);
        assert_int_equal(status_of("--http", said), OPTIONS_WRONG);
        assert_int_equal(status_of("argument", said), OPTIONS_WRONG);
        assert_int_equal(status_of("--reset-database", said), 99);
        fclose(said);
}

static void test_flags_are_stronger_than_the_file(void **state)
{
        char *argv[] = { "aliquotd", "--config", path, "--http=127.0.0.1:7", "--sim", NULL };
        char *bad[] = { "aliquotd", "-c", path, "--http=nowhere", "--sim=gpus=2", NULL };
        FILE *file = fopen(path, "a");
        struct options options;

        assert_true(fputs("address = 127.0.0.1:6\n", file) > 0 && fclose(file) == 0);
        parse_options(&options, argv);
        assert_true(options.is_simulated);
        assert_string_equal(options.sim, "");
        memset(&report, 0, sizeof(report));
        if (options_config(&options, &config, &report) < 0)
                fail_msg("%s", report.text);
        assert_string_equal(config.http_address, "127.0.0.1:7");
        assert_int_equal(config.rate_per_second, 5);

        parse_options(&options, bad);
        assert_string_equal(options.sim, "gpus=2");
        assert_true(options_config(&options, &config, &report) < 0);
        assert_string_equal(report.text,
                            "--http: http.address = nowhere: expected " ADDRESS_EXPECTED
                            ", or nothing\n");
        assert_string_equal(config.http_address, "127.0.0.1:7"); /* untouched */
}

static void test_names_of_gpu_slice_are_weaker_than_the_file(void **state)
{
        char *argv[] = { "aliquotd", "--config", path, NULL };
        FILE *file = fopen(path, "a");
        struct options options;

        assert_true(fputs("[admission]\nttl = 5m\n", file) > 0 && fclose(file) == 0);
        setenv("GPUSLICE_DEFAULT_TTL", "120", 1);
        setenv("GPUSLICE_METRICS_DEBUG", "1", 1);
        memset(&report, 0, sizeof(report));
        parse_options(&options, argv);
        if (options_config(&options, &config, &report) < 0)
                fail_msg("%s", report.text);
        assert_int_equal(config.policy.ttl_ns, UINT64_C(300000000000));
        assert_true(config.has_session_metrics);
        setenv("GPUSLICE_IPC_TOKEN_REQUIRED", "1", 1);
        assert_true(options_config(&options, &config, &report) < 0);
        assert_non_null(strstr(report.text,
                               "GPUSLICE_IPC_TOKEN_REQUIRED: join.token_required = yes: expected "
                               "join.token_file as well, or GPUSLICE_IPC_TOKEN"));
        setenv("GPUSLICE_IPC_TOKEN", "", 1); /* none, as GPU Slice takes it */
        assert_true(options_config(&options, &config, &report) < 0);
        setenv("GPUSLICE_IPC_TOKEN", "a-secret-among-us-all", 1);
        assert_int_equal(options_config(&options, &config, &report), 0);
        assert_true(config.is_join_token_required);
        unsetenv("GPUSLICE_IPC_TOKEN_REQUIRED");
        unsetenv("GPUSLICE_IPC_TOKEN");
        setenv("GPUSLICE_DEFAULT_TTL", "soon", 1);
        assert_true(options_config(&options, &config, &report) < 0);
        assert_non_null(strstr(report.text, "GPUSLICE_DEFAULT_TTL: admission.ttl = soon"));
        unsetenv("GPUSLICE_DEFAULT_TTL");
        unsetenv("GPUSLICE_METRICS_DEBUG");
}

static void test_a_file_that_was_asked_for_must_be_there(void **state)
{
        struct options options = { .config = "/nonexistent/aliquotd.conf" };

        memset(&report, 0, sizeof(report));
        assert_true(options_config(&options, &config, &report) < 0);
        assert_string_equal(report.text, "/nonexistent/aliquotd.conf: No such file or directory\n");
}

static void test_the_database_has_a_place_of_its_own(void **state)
{
        char folder[CONFIG_PATH_BYTES];
        struct error err;

        config_init(&config);
        assert_int_equal(config_set(&config, "daemon.state_dir", "/x", "--state-dir", &report), 0);
        assert_int_equal(options_state_dir(&config, folder, &err), 0);
        assert_string_equal(folder, "/x");
}

/* As a user that is not root; 0: all is as it should be. */
static int check_user_places(const char *home)
{
        struct options options = { 0 };
        char folder[CONFIG_PATH_BYTES], expected[CONFIG_PATH_BYTES];

        if (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0)
                return 1;
        memset(&report, 0, sizeof(report));
        setenv("XDG_CONFIG_HOME", home, 1);
        unsetenv("XDG_STATE_HOME");
        setenv("HOME", home, 1);
        if (options_config(&options, &config, &report) == 0 || !strstr(report.text, "rate = bad"))
                return 2;
        config_init(&config);
        snprintf(expected, sizeof(expected), "%s/.local/state/aliquot", home);
        if (options_state_dir(&config, folder, NULL) < 0 || strcmp(folder, expected) != 0)
                return 3;
        unsetenv("HOME");
        return options_state_dir(&config, folder, NULL) == -ENOENT ? 0 : 4;
}

static void test_a_users_daemon_has_places_of_its_own(void **state)
{
        char home[] = "/tmp/aliquot-home-XXXXXX";
        char file[128], command[160];
        int status;

        assert_non_null(mkdtemp(home));
        snprintf(command, sizeof(command), "mkdir %s/aliquot && chmod 0755 %s", home, home);
        assert_int_equal(system(command), 0);
        snprintf(file, sizeof(file), "%s/aliquot/aliquotd.conf", home);
        FILE *stream = fopen(file, "w");
        assert_true(fputs("[http]\nrate = bad\n", stream) > 0 && fclose(stream) == 0);
        pid_t child = fork();
        if (child == 0)
                _exit(check_user_places(home));
        assert_int_equal(waitpid(child, &status, 0), child);
        snprintf(command, sizeof(command), "rm -r %s", home);
        assert_int_equal(system(command), 0);
        assert_int_equal(status, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_wrong_command_line_is_told_from_questions),
                cmocka_unit_test_setup_teardown(test_flags_are_stronger_than_the_file, fresh_file,
                                                drop_file),
                cmocka_unit_test_setup_teardown(test_names_of_gpu_slice_are_weaker_than_the_file,
                                                fresh_file, drop_file),
                cmocka_unit_test(test_a_file_that_was_asked_for_must_be_there),
                cmocka_unit_test(test_the_database_has_a_place_of_its_own),
                cmocka_unit_test(test_a_users_daemon_has_places_of_its_own),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
