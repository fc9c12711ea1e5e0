/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aliquot bench share: measures what each of several sessions gets of a GPU, compared with what it
 * was promised.
 *
 *      mix -> stage -> record -> chart, figure
 */
#include "cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/bench/chart.h"
#include "cli/bench/figure.h"
#include "cli/bench/record.h"
#include "cli/bench/stage.h"
#include "cli/child.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "common/scoped.h"
#include "common/text.h"

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_SECOND (1000 * NS_PER_MS)
#define DEFAULT_SECONDS_NS (10 * NS_PER_SECOND)
#define DEFAULT_PERIOD_NS (100 * NS_PER_MS)
#define MIN_PERIOD_NS (5 * NS_PER_MS)
#define MAX_PERIOD_NS NS_PER_SECOND
#define MAX_NS (3600 * NS_PER_SECOND)

enum flag {
        FLAG_SECONDS = 0x200,
        FLAG_PERIOD,
        FLAG_PNG,
        FLAG_TITLE,
        FLAG_JSON,
        FLAG_FROM,
        FLAG_DAEMON,
        FLAG_ASCII,
        FLAG_NO_COLOUR
};

struct bench {
        bool is_json, is_ascii, is_plain;
        const char *json; /* output file; NULL: standard output */
        const char *png, *title, *from;
        uint64_t length_ns;
        bool has_share; /* the word "share" was given */
        struct record record;
        struct stage stage;
        struct grid grid;
};

static const struct argp_option options[] = {
        { "seconds", FLAG_SECONDS, "S", 0, "Length of the run, at most 3600 (default: 10)", 0 },
        { "period", FLAG_PERIOD, "TIME", 0, "Length of one sample, 5ms to 1s (default: 100ms)", 0 },
        { "png", FLAG_PNG, "FILE", 0, "Draw a picture, too (needs cairo)", 0 },
        { "title", FLAG_TITLE, "TEXT", 0, "Title of the picture", 0 },
        { "json", FLAG_JSON, "FILE", OPTION_ARG_OPTIONAL, "Print JSON, or write it to FILE as well",
          0 },
        { "from", FLAG_FROM, "FILE", 0, "Draw what --json wrote, and measure nothing", 0 },
        { "daemon", FLAG_DAEMON, NULL, 0, "Use the machine's daemon, not one of its own", 0 },
        { "ascii", FLAG_ASCII, NULL, 0, "Draw with ASCII only, in any locale", 0 },
        { "no-colour", FLAG_NO_COLOUR, NULL, 0, "Plain text also on a terminal", 0 },
        { 0 },
};

static void read_seconds(struct bench *bench, const char *value, struct argp_state *state)
{
        char *end = NULL;
        double seconds = text_is_digit(value[0]) ? strtod(value, &end) : 0;

        if (!end || *end || !(seconds >= 1) || seconds * 1e9 > (double)MAX_NS)
                argp_error(state, "--seconds %s: expected 1 to 3600", text_shown(value));
        bench->length_ns = (uint64_t)(seconds * 1e9 + 0.5);
}

static void read_period(struct bench *bench, const char *value, struct argp_state *state)
{
        struct error err = { 0 };

        if (mix_time(value, &bench->record.period_ns, &err) < 0 ||
            bench->record.period_ns < MIN_PERIOD_NS || bench->record.period_ns > MAX_PERIOD_NS)
                argp_error(state, "--period %s: expected 5ms to 1s", text_shown(value));
}

static void read_word(struct bench *bench, const char *word, struct argp_state *state)
{
        struct error err = { 0 };

        if (!bench->has_share && strcmp(word, "share") == 0)
                bench->has_share = true;
        else if (!bench->has_share)
                argp_error(state, "there is no benchmark %s; expected share", text_shown(word));
        else if (mix_add(&bench->record.mix, word, &err) < 0)
                argp_error(state, "%s", err.text);
}

/* Refuses options that contradict each other. */
static void check_options(struct bench *bench, struct argp_state *state)
{
        struct record *record = &bench->record;
        struct error err = { 0 };

        if (!bench->has_share)
                argp_error(state, "which benchmark? expected share");
        if (bench->from && record->mix.count)
                argp_error(state, "--from and a mix: choose one");
        if (!bench->from && !record->mix.count)
                argp_error(state, "which mix? as in: aliquot bench share 30 70");
        if (bench->title && !bench->png)
                argp_error(state, "--title is for --png");
        if (bench->json && bench->png && strcmp(bench->json, bench->png) == 0)
                argp_error(state, "--json and --png: one file cannot be both");
        record->samples = (unsigned)(bench->length_ns / record->period_ns);
        if (record->samples > LOAD_SAMPLES_MAX)
                argp_error(state, "--seconds, --period: more than %u samples", LOAD_SAMPLES_MAX);
        if (!bench->from && mix_check(&record->mix, bench->length_ns, &err) < 0)
                argp_error(state, "%s", err.text);
}

static error_t parse(int key, char *value, struct argp_state *state)
{
        struct bench *bench = state->input;

        switch (key) {
        case ARGP_KEY_INIT:
                state->child_inputs[0] = &bench->stage.flags;
                state->child_inputs[1] = &bench->stage.flags;
                return 0;
        case FLAG_SECONDS:
                read_seconds(bench, value, state);
                return 0;
        case FLAG_PERIOD:
                read_period(bench, value, state);
                return 0;
        case FLAG_PNG:
                bench->png = value;
                return 0;
        case FLAG_TITLE:
                bench->title = value;
                return 0;
        case FLAG_JSON:
                bench->is_json = true;
                bench->json = value;
                return 0;
        case FLAG_FROM:
                bench->from = value;
                return 0;
        case FLAG_DAEMON:
                bench->stage.is_daemon_theirs = true;
                return 0;
        case FLAG_ASCII:
                bench->is_ascii = true;
                return 0;
        case FLAG_NO_COLOUR:
                bench->is_plain = true;
                return 0;
        case ARGP_KEY_ARG:
                read_word(bench, value, state);
                return 0;
        case ARGP_KEY_END:
                check_options(bench, state);
                return 0;
        default:
                return ARGP_ERR_UNKNOWN;
        }
}

static const struct argp_child children[] = { { &request_sim_argp, 0, NULL, 0 },
                                              { &request_gpu_argp, 0, NULL, 0 },
                                              { 0 } };

const struct argp argp_bench = {
        .options = options,
        .parser = parse,
        .args_doc = "share MIX...",
        .doc = "Measure the GPU time of sessions, and draw it beside what they were promised."
               "\vMIX: a session each, items with commas between. 30: its cap in percent; "
               "guarantee=20, weight=2, rt, normal, batch: its other terms; kernel, sync, graph, "
               "streams, ex, cooperative, poll, step: how its program launches; 200us: how long "
               "its kernels take; +5s, -10s: when it begins and stops; 60@5s: another cap from "
               "then on. With --sim the time is virtual and the run is over in a moment.\n",
        .children = children,
};

/* Checks that the file could be written now. No new file is left behind, and an existing file is
 * not changed. */
static int check_writable(const char *flag, const char *path, struct error *err)
{
        scoped_fd int fd = -1;
        struct stat st;

        if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
                /* A pipe must not be opened twice. */
                if (S_ISDIR(st.st_mode))
                        return fail(err, -EISDIR, "%s %s: is a folder", flag, text_shown(path));
                if (access(path, W_OK) < 0)
                        return fail(err, -errno, "%s %s: %m", flag, text_shown(path));
                return 0;
        }
        fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT) {
                fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
                if (fd >= 0)
                        unlink(path);
        }
        return fd < 0 ? fail(err, -errno, "%s %s: %m", flag, text_shown(path)) : 0;
}

/* Checks the outputs before anything is measured, because otherwise the results would be lost. */
static int check_outputs(const struct bench *bench, struct error *err)
{
        struct installation own;
        int rc = bench->json ? check_writable("--json", bench->json, err) : 0;

        if (rc == 0 && bench->png)
                rc = check_writable("--png", bench->png, err);
        if (rc < 0 || !bench->png)
                return rc;
        rc = installation_find(&own, err);
        return rc < 0 ? rc : figure_check(&own, err);
}

static int measure_shares(struct bench *bench, struct error *err)
{
        int rc = stage_open(&bench->stage, &bench->record.mix, err);

        if (rc == 0)
                rc = stage_play(&bench->stage, &bench->record, err);
        stage_end(&bench->stage);
        return rc < 0 ? rc : record_check(&bench->record, err);
}

static int write_json(const struct bench *bench, struct error *err)
{
        FILE *stream = bench->json ? fopen(bench->json, "we") : stdout;
        int rc = stream ? record_write(&bench->record, stream) : -errno;

        if (stream && bench->json && fclose(stream) != 0 && rc == 0)
                rc = -errno;
        errno = -rc;
        return rc < 0 ? fail(err, rc, "--json %s: %m", bench->json ? bench->json : "") : 0;
}

static int draw(struct bench *bench, struct error *err)
{
        bench->grid.is_utf8 = terminal_is_utf8() && !bench->is_ascii;
        if (chart_draw(&bench->record, &bench->grid) < 0)
                return fail(err, -ENOMEM, "out of memory");
        if (bench->is_plain || !isatty(STDOUT_FILENO))
                grid_print(&bench->grid, stdout);
        else
                chart_print_coloured(&bench->grid, stdout);
        grid_finish(&bench->grid);
        return 0;
}

static int draw_picture(const struct bench *bench, struct error *err)
{
        struct installation own;
        int rc = installation_find(&own, err);

        return rc < 0 ? rc : figure_draw(&own, &bench->record, bench->title, bench->png, err);
}

/* Makes all requested outputs: if one fails, the others are still made. */
static int show_results(struct bench *bench, struct error *err)
{
        int rc = !bench->is_json || bench->json ? draw(bench, err) : 0;

        if (bench->is_json) {
                int written = write_json(bench, rc < 0 ? NULL : err);

                rc = rc < 0 ? rc : written;
        }
        if (bench->png) {
                int drawn = draw_picture(bench, rc < 0 ? NULL : err);

                rc = rc < 0 ? rc : drawn;
        }
        return rc;
}

int command_bench(int argc, char **argv)
{
        static struct bench bench = { .length_ns = DEFAULT_SECONDS_NS,
                                      .record.period_ns = DEFAULT_PERIOD_NS };
        struct error err = { 0 };
        int rc;

        options_parse(&(struct cli_options){ argc, argv, STATUS_WRONG }, &argp_bench, 0, &bench);
        rc = check_outputs(&bench, &err);
        if (rc == 0)
                rc = bench.from ? record_read(bench.from, &bench.record, &err)
                                : measure_shares(&bench, &err);
        if (bench.stage.signal)
                return child_end_alike(bench.stage.signal);
        if (rc == 0)
                rc = show_results(&bench, &err);
        record_free(&bench.record);
        return rc < 0 ? command_fail("bench", STATUS_NO, &err) : STATUS_YES;
}
