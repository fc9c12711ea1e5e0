/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bench/figure.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/json_out.h"
#include "common/scoped.h"
#include "common/text.h"

#define NS_PER_MS UINT64_C(1000000)
/* exit status of the child if it cannot execute aliquot-plot, the same as the loader's */
#define CANNOT_START 127

/* -- The description of the picture ----------------------------------------------------------- */

static uint64_t length_ms(const struct record *record)
{
        return record->samples * record->period_ns / NS_PER_MS;
}

static void put_axes(struct json_out *out, const struct record *record)
{
        json_out_open(out, "x", '{');
        json_out_text(out, "label", "seconds");
        json_out_u64(out, "to", length_ms(record));
        json_out_u64(out, "unit", 1000);
        json_out_close(out, '}');
        json_out_open(out, "y", '{');
        json_out_text(out, "label", "percent of the GPU");
        json_out_u64(out, "to", 100);
        json_out_u64(out, "unit", 1);
        json_out_close(out, '}');
}

static void put_point(struct json_out *out, uint64_t ns, double share)
{
        json_out_u64(out, NULL, ns / NS_PER_MS);
        json_out_percent(out, NULL, share > 0 ? (uint32_t)(share * MIX_WHOLE_PPM + 0.5) : 0);
}

static void begin_line(struct json_out *out, const char *name, const char *style, unsigned colour)
{
        json_out_open(out, NULL, '{');
        json_out_text(out, "name", name);
        json_out_text(out, "style", style);
        json_out_u64(out, "colour", colour);
        json_out_open(out, "points", '[');
}

static void end_line(struct json_out *out)
{
        json_out_close(out, ']');
        json_out_close(out, '}');
}

static bool is_wanted(const struct mix_session *session, uint64_t from_ns, uint64_t until_ns)
{
        return until_ns > session->from_ns && from_ns < session->until_ns;
}

static void put_promised(struct json_out *out, const struct record *record, unsigned at)
{
        double share[MIX_SESSIONS];

        begin_line(out, NULL, "dashes", at);
        for (unsigned i = 0; i < record->samples; i++) {
                uint64_t from_ns = i * record->period_ns, until_ns = from_ns + record->period_ns;

                if (!is_wanted(&record->mix.session[at], from_ns, until_ns))
                        continue;
                mix_promise(&record->mix, from_ns, share);
                put_point(out, from_ns, share[at]);
                put_point(out, until_ns, share[at]);
        }
        end_line(out);
}

static void put_delivered(struct json_out *out, const struct record *record, unsigned at)
{
        struct record_figures figures;
        char name[2 * MIX_WORD_BYTES];

        record_figures(record, at, &figures);
        snprintf(name, sizeof(name), "%s: %.2f of %.2f", record->mix.session[at].word,
                 100 * figures.delivered, 100 * figures.promised);
        begin_line(out, name, "line", at);
        for (unsigned i = 0; i < record->samples; i++) {
                uint64_t from_ns = i * record->period_ns;

                if (is_wanted(&record->mix.session[at], from_ns, from_ns + record->period_ns))
                        put_point(out, from_ns + record->period_ns / 2,
                                  record_delivered(record, at, i, i + 1));
        }
        end_line(out);
}

static void put_figure(const struct record *record, const char *title, FILE *stream)
{
        struct json_out out = { .stream = stream };
        struct record_summary summary;
        char about[256], note[256];

        record_summarize(record, &summary);
        snprintf(about, sizeof(about), "%s, %s time; judged by %s", record->gpu, record->clock,
                 record_judge(record));
        snprintf(note, sizeof(note),
                 "solid: delivered in each %g ms; dashed: promised. Mean error %.2f points, "
                 "together %.1f %%.",
                 (double)record->period_ns / 1e6, 100 * summary.mean_error, 100 * summary.together);
        json_out_open(&out, NULL, '{');
        json_out_text(&out, "title", title ? title : "Share of the GPU: delivered and promised");
        json_out_text(&out, "about", about);
        json_out_text(&out, "note", note);
        put_axes(&out, record);
        json_out_open(&out, "lines", '[');
        for (unsigned i = 0; i < record->mix.count; i++) {
                put_promised(&out, record, i);
                put_delivered(&out, record, i);
        }
        json_out_close(&out, ']');
        json_out_close(&out, '}');
        json_out_end(&out);
}

/* -- The program aliquot-plot ----------------------------------------------------------------- */

/* Starts aliquot-plot with the path of the picture ("--version": writes nothing). Returns its pid
 * and its standard input, or a negative errno and no input. */
static pid_t start_plot(const struct installation *own, const char *word, int *ret_input)
{
        int ends[2] = { -1, -1 };
        pid_t pid;

        if (pipe2(ends, O_CLOEXEC) < 0)
                return -errno;
        pid = fork();
        if (pid < 0)
                pid = -errno;
        if (pid == 0) {
                dup2(ends[0], STDIN_FILENO);
                execl(own->plot, "aliquot-plot", word, (char *)NULL);
                _exit(CANNOT_START);
        }
        close(ends[0]);
        if (pid < 0)
                close(ends[1]);
        else
                *ret_input = ends[1];
        return pid;
}

static int wait_for_plot(pid_t pid, struct error *err)
{
        int status;

        while (waitpid(pid, &status, 0) < 0) {
                if (errno != EINTR)
                        return fail(err, -errno, "aliquot-plot: %m");
        }
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
                return 0;
        if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT_START)
                return fail(err, -ENOENT,
                            "--png: aliquot-plot does not start; it needs cairo, as in: apt-get "
                            "install libcairo2");
        return fail(err, -EIO, "--png: aliquot-plot failed, see above");
}

int figure_check(const struct installation *own, struct error *err)
{
        scoped_fd int input = -1;
        pid_t pid;

        if (!own->plot[0])
                return fail(err, -ENOENT,
                            "--png: this installation has no aliquot-plot, as it was built without "
                            "cairo; --json keeps what was measured, and --from draws it elsewhere");
        pid = start_plot(own, "--version", &input);
        return pid < 0 ? fail(err, pid, "aliquot-plot: %s", strerror(-pid))
                       : wait_for_plot(pid, err);
}

int figure_draw(const struct installation *own, const struct record *record, const char *title,
                const char *path, struct error *err)
{
        /* aliquot-plot may end before it has read everything */
        void (*before)(int) = signal(SIGPIPE, SIG_IGN);
        int input = -1, rc;
        pid_t pid = start_plot(own, path, &input);
        FILE *stream = pid < 0 ? NULL : fdopen(input, "w");

        if (stream) {
                put_figure(record, title, stream);
                fclose(stream);
        } else if (input >= 0) {
                close(input); /* otherwise the program would wait for more input */
        }
        rc = pid < 0 ? fail(err, pid, "aliquot-plot: %s", strerror(-pid)) : wait_for_plot(pid, err);
        signal(SIGPIPE, before);
        return rc;
}
