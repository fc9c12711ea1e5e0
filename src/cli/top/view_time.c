/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws a session's GPU time: its terms, and the time that it got.
 */
#include "cli/top/view_parts.h"

#include <string.h>

#include "common/text.h"
#include "common/units.h"
#include "settings/settings.h"

#define PERCENT_BYTES 32
#define PPM_A_PERMILLE 1000u
#define MS_NS UINT64_C(1000000)
#define SECOND_MS 1000u
/* from this on there is no room for tenths */
#define WHOLE_SECONDS_MS (1000 * SECOND_MS)

/* Returns a value such as "29.9%"; "-" if it is unknown. */
static const char *share_text(int permille, char ret[PERCENT_BYTES])
{
        if (permille < 0)
                snprintf(ret, PERCENT_BYTES, "-");
        else
                snprintf(ret, PERCENT_BYTES, "%d.%d%%", permille / 10, permille % 10);
        return ret;
}

/* Returns millionths as a short percentage, such as "30%" or "33.3%". */
static const char *short_text(uint32_t ppm, char ret[PERCENT_BYTES])
{
        unsigned permille = (ppm + PPM_A_PERMILLE / 2) / PPM_A_PERMILLE;

        if (permille % 10)
                return share_text((int)permille, ret);
        snprintf(ret, PERCENT_BYTES, "%u%%", permille / 10);
        return ret;
}

/* Returns millionths as a percentage with all digits. */
static const char *ppm_text(uint32_t ppm, char ret[SIZE_TEXT_BYTES])
{
        return size_canonical(&(struct size){ 0, ppm * MICRO_PERCENT_A_PPM }, ret);
}

/* Draws the column of promises: "30%" is a cap, "30%+" a guarantee, "10-30%" both; "-": neither. */
static void draw_promise(const struct view_line *line, const struct snapshot_time *time)
{
        struct grid_place place = view_place(line, SESSIONS_PROMISED, GRID_PLAIN);
        char cap[PERCENT_BYTES], guarantee[PERCENT_BYTES], text[2 * PERCENT_BYTES] = "-";
        bool has_cap = snapshot_has_cap(time);

        short_text(time->cap_ppm, cap);
        short_text(time->guarantee_ppm, guarantee);
        if (has_cap && time->guarantee_ppm)
                snprintf(text, sizeof(text), "%.*s-%s", (int)strcspn(guarantee, "%"), guarantee,
                         cap);
        else if (has_cap || time->guarantee_ppm)
                snprintf(text, sizeof(text), "%s%s", has_cap ? cap : guarantee, has_cap ? "" : "+");
        grid_right(line->grid, &place, text);
}

/* Draws a bar of the GPU time that the session got, and of the rest that is promised to it, out of
 * the whole GPU. */
static void draw_bar(const struct view_line *line, const struct snapshot_time *time, int had)
{
        uint32_t promised_ppm = snapshot_has_cap(time) ? time->cap_ppm : time->guarantee_ppm;
        unsigned first = had > 0 ? (unsigned)had : 0;
        unsigned whole = promised_ppm / PPM_A_PERMILLE;
        struct grid_place place = view_place(line, SESSIONS_TIME, GRID_CYAN);

        grid_bar(line->grid, &place, first, whole > first ? whole - first : 0);
}

static void draw_debt(const struct view_line *line, uint64_t debt_ns)
{
        struct grid_place place = view_place(line, SESSIONS_DEBT, GRID_PLAIN);
        unsigned ms = (unsigned)((debt_ns + MS_NS - 1) / MS_NS);
        char text[16] = "-";

        if (ms >= WHOLE_SECONDS_MS)
                snprintf(text, sizeof(text), "%us", ms / SECOND_MS);
        else if (ms >= SECOND_MS)
                snprintf(text, sizeof(text), "%u.%us", ms / SECOND_MS, ms % SECOND_MS / 100);
        else if (ms)
                snprintf(text, sizeof(text), "%ums", ms);
        grid_right(line->grid, &place, text);
}

void time_draw(const struct view_line *line, const struct snapshot_share *share,
               const struct pace_figures *figures)
{
        struct grid_place had = view_place(line, SESSIONS_SHARE, GRID_BOLD);
        struct grid_place wait = view_place(line, SESSIONS_WAIT, GRID_PLAIN);
        char text[PERCENT_BYTES];

        if (!share || !snapshot_has_time(share)) {
                grid_right(line->grid, &had, "-");
                return;
        }
        grid_right(line->grid, &had, share_text(figures->had, text));
        draw_promise(line, &share->time);
        draw_bar(line, &share->time, figures->had);
        grid_right(line->grid, &wait, share_text(figures->waited, text));
        draw_debt(line, share->time.debt_ns);
}

const char *time_state(const struct snapshot_share *share, const struct pace *pace)
{
        return share->time.is_degraded ? "degraded" : pace_reason(pace, &share->time);
}

static void add_promise(struct text *text, const struct snapshot_time *time)
{
        char percent[SIZE_TEXT_BYTES];

        if (snapshot_has_cap(time))
                text_add(text, " at most %s,", ppm_text(time->cap_ppm, percent));
        if (time->guarantee_ppm)
                text_add(text, " at least %s,", ppm_text(time->guarantee_ppm, percent));
}

static void add_reasons(struct text *text, const struct pace_figures *figures)
{
        char percent[PERCENT_BYTES];

        if (figures->throttled > 0)
                text_add(text, " throttled %s,", share_text(figures->throttled, percent));
        if (figures->queued > 0)
                text_add(text, " queued %s,", share_text(figures->queued, percent));
}

/* Adds the finding about the first GPU that has one. */
static void add_finding(struct text *text, const struct snapshot_session *session)
{
        for (unsigned i = 0; i < session->share_count; i++) {
                if (!session->share[i].time.finding[0])
                        continue;
                text_add(text, " reported (%s),", session->share[i].time.finding);
                return;
        }
}

void time_tell(struct text *text, const struct model *model, size_t at)
{
        const struct snapshot_session *session = &model->now->session[at];
        const struct snapshot_share *share = model_told_share(model, at);
        bool is_degraded = false;

        for (unsigned i = 0; i < session->share_count; i++)
                is_degraded |= session->share[i].time.is_degraded;
        text_add(text, "GPU time:");
        if (share)
                add_promise(text, &share->time);
        if (session->has_daemon)
                text_add(text, " weight %u, %s,", session->weight, session->priority);
        add_finding(text, session);
        if (share)
                add_reasons(text,
                            &model_pace(model, at, (unsigned)(share - session->share))->figures);
        text_add(text, " accuracy=%s", is_degraded ? "degraded" : "exact");
        if (session->gang[0])
                text_add(text, ", gang %s", session->gang);
}
