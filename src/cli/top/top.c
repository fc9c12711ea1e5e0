/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aliquot top: shows the node on a terminal, updates it regularly, and lets the user change
 * sessions.
 *
 *      source -> snapshot -> model -> view -> grid -> screen
 *                   keys  -> model, orders -> act
 */
#include "cli/command.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "cli/child.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "cli/top/act.h"
#include "cli/top/feed.h"
#include "cli/top/screen.h"
#include "cli/top/source.h"
#include "cli/top/view.h"
#include "common/clock.h"
#include "common/text.h"
#include "common/units.h"

#define NS_PER_MS UINT64_C(1000000)
#define MIN_INTERVAL_NS (100 * NS_PER_MS)
#define MAX_INTERVAL_NS (UINT64_C(3600000) * NS_PER_MS)
#define ONCE_COLUMNS 80
#define FEED_MS 100 /* time between two reads of events that are followed */
#define ACT_MS 20   /* time between two checks for the result of an order */

enum flag { FLAG_ONCE = 0x200, FLAG_INTERVAL, FLAG_SORT, FLAG_FILTER, FLAG_ASCII };

struct top {
        bool is_once, is_ascii;
        bool has_interval; /* the user gave an interval */
        uint64_t interval_ns;
        struct request_flags flags;
        struct source source;
        struct model model;
        struct keys keys;
        struct grid grid;
        struct feed feed;
        struct act act;
        size_t first; /* index of the model's row that is the first on the screen */
};

static const struct argp_option options[] = {
        { "once", FLAG_ONCE, NULL, 0,
          "Print one frame as text; with --interval also the GPU time used during it", 0 },
        { "interval", FLAG_INTERVAL, "TIME", 0, "Time between frames: 500ms, ... (default: 1s)",
          0 },
        { "sort", FLAG_SORT, "KEY", 0,
          "name, processes, used, limit, full, share or waiting (default: used)", 0 },
        { "filter", FLAG_FILTER, "TEXT", 0, "Show sessions with TEXT in name, label or process",
          0 },
        { "all", 'a', NULL, 0, "Show GPUs and processes of all sessions", 0 },
        { "ascii", FLAG_ASCII, NULL, 0, "Draw with ASCII only, in any locale", 0 },
        { 0 },
};

static void read_interval(struct top *top, char *value, struct argp_state *state)
{
        struct error err = { 0 };

        if (duration_parse(value, &top->interval_ns, &err) < 0)
                argp_error(state, "--interval %s: %s", text_shown(value), err.text);
        if (top->interval_ns < MIN_INTERVAL_NS || top->interval_ns > MAX_INTERVAL_NS)
                argp_error(state, "--interval %s: expected 100ms to 1h", text_shown(value));
}

static void read_sort(struct top *top, char *value, struct argp_state *state)
{
        unsigned at = 0;

        while (at < SORT_KEYS && strcasecmp(sort_names[at], value) != 0)
                at++;
        if (at == SORT_KEYS)
                argp_error(state,
                           "--sort %s: expected name, processes, used, limit, full, share "
                           "or waiting",
                           text_shown(value));
        model_sort_by(&top->model, at);
}

static error_t parse(int key, char *value, struct argp_state *state)
{
        struct top *top = state->input;

        switch (key) {
        case ARGP_KEY_INIT:
                state->child_inputs[0] = &top->flags;
                return 0;
        case FLAG_ONCE:
                top->is_once = true;
                return 0;
        case FLAG_INTERVAL:
                read_interval(top, value, state);
                top->has_interval = true;
                return 0;
        case FLAG_SORT:
                read_sort(top, value, state);
                return 0;
        case FLAG_FILTER:
                if (text_put(top->model.filter, MODEL_FILTER_BYTES, NULL, "%s", value) < 0)
                        argp_error(state, "--filter %s: too long", text_shown(value));
                return 0;
        case 'a':
                top->model.opens_all = true;
                return 0;
        case ARGP_KEY_ARG:
                argp_error(state, "%s: too many arguments", text_shown(value));
                return EINVAL;
        case FLAG_ASCII:
                top->is_ascii = true;
                return 0;
        default:
                return ARGP_ERR_UNKNOWN;
        }
}

static const struct argp_child children[] = { { &request_sim_argp, 0, NULL, 0 }, { 0 } };

const struct argp argp_top = {
        .options = options,
        .parser = parse,
        .doc = "Show GPUs, sessions and processes on a live screen. Key ? lists the keys.",
        .children = children,
};

static int read_snapshot(struct top *top, struct error *err)
{
        const struct snapshot *snapshot;
        int rc = source_read(&top->source, &snapshot, err);

        if (rc == 0 && model_take(&top->model, snapshot) < 0)
                rc = fail(err, -ENOMEM, "out of memory");
        return rc;
}

/* Prints one frame. GPU time can be shown only for the interval between two snapshots. */
static int look_once(struct top *top, struct error *err)
{
        int rc = read_snapshot(top, err);

        if (rc == 0 && top->has_interval) {
                clock_sleep_ns(top->interval_ns);
                rc = read_snapshot(top, err);
        }
        return rc;
}

static struct view_frame frame_of(struct top *top, char clock[16])
{
        time_t now = time(NULL);
        struct tm local;

        strftime(clock, 16, "%H:%M:%S", localtime_r(&now, &local));
        return (struct view_frame){ .model = &top->model,
                                    .clock = top->is_once ? "" : clock,
                                    .where = top->source.store.path,
                                    .events = &top->feed.lines,
                                    .is_once = top->is_once };
}

/* Returns the width of a single frame: that of the terminal, that in COLUMNS, or the width of every
 * terminal. */
static int columns_for_once(void)
{
        const char *asked = getenv("COLUMNS");
        long columns = asked ? strtol(asked, NULL, 10) : 0;

        if (columns == 0)
                columns = terminal_columns();
        return columns >= VIEW_MIN_COLUMNS && columns <= 1000 ? (int)columns : ONCE_COLUMNS;
}

static int print_once(struct top *top, struct error *err)
{
        char clock[16];
        struct view_frame frame = frame_of(top, clock);

        if (grid_begin(&top->grid, view_rows(&frame), columns_for_once()) < 0)
                return fail(err, -ENOMEM, "out of memory");
        view_draw(&top->grid, &frame, &top->keys, &top->first);
        grid_print(&top->grid, stdout);
        return 0;
}

static int show_frame(struct top *top, struct error *err)
{
        char clock[16];
        struct view_frame frame = frame_of(top, clock);
        int rows, columns;

        screen_size(&rows, &columns);
        if (grid_begin(&top->grid, rows, columns) < 0)
                return fail(err, -ENOMEM, "out of memory");
        view_draw(&top->grid, &frame, &top->keys, &top->first);
        screen_show(&top->grid);
        return 0;
}

/* Carries out an order. Returns false to quit. The effect of an order is shown at once. */
static bool carry_out_order(struct top *top, int order, bool *ret_look)
{
        struct keys *keys = &top->keys;
        char message[KEYS_LINE_BYTES];

        if (order == ORDER_QUIT)
                return false;
        if (order == ORDER_NONE)
                return true;
        if (order == ORDER_SET) {
                keys->is_bad = !act_set(&top->act, top->source.request.own.program, keys, message);
        } else {
                keys->is_bad = !act_signal(keys, message);
                *ret_look = true;
        }
        memcpy(keys->message, message, sizeof(message));
        return true;
}

/* Reads a new snapshot. If that fails, the last frame stays, with the reason as message. */
static void look_again(struct top *top)
{
        struct error err = { 0 };

        if (read_snapshot(top, &err) == 0)
                return;
        text_quote(err.text, top->keys.message, sizeof(top->keys.message));
        top->keys.is_bad = true;
}

/* Waits for a key until the next snapshot is due. Events arrive in between; the wait is divided for
 * them only while the user watches them. */
static int wait_for_key(struct top *top, uint64_t due)
{
        bool follows = top->keys.question == SHOWS_EVENTS;
        uint64_t now = clock_machine_ns();
        int milliseconds = due > now ? (int)((due - now) / NS_PER_MS) + 1 : 0;
        int most = top->act.is_pending ? ACT_MS : follows ? FEED_MS : milliseconds;

        if (follows && !top->feed.is_open)
                feed_open(&top->feed, top->source.request.own.program);
        if (!follows)
                feed_close(&top->feed);
        return screen_wait(milliseconds > most ? most : milliseconds);
}

/* Handles a key. Returns false to quit; *ret_rc: an error. */
static bool press(struct top *top, int key, bool *ret_looks, int *ret_rc, struct error *err)
{
        int order = keys_press(&top->keys, &top->model, key);

        if (order >= 0)
                return carry_out_order(top, order, ret_looks);
        *ret_rc = fail(err, order, "out of memory");
        return true;
}

static int run_live(struct top *top, struct error *err)
{
        uint64_t due = clock_machine_ns() + top->interval_ns;
        int rc = screen_open(err);

        if (rc < 0)
                return rc;
        while (rc == 0 && (rc = show_frame(top, err)) == 0) {
                int key = wait_for_key(top, due);
                bool is_due = clock_machine_ns() >= due;
                bool looks = is_due && !top->keys.is_paused;

                if (key == SCREEN_GONE || key == SCREEN_ENDED)
                        break;
                if (key > 0 && !press(top, key, &looks, &rc, err))
                        break;
                if (act_is_set(&top->act, top->keys.message, &top->keys.is_bad) || looks)
                        look_again(top);
                feed_read(&top->feed);
                if (is_due)
                        due = clock_machine_ns() + top->interval_ns;
        }
        feed_close(&top->feed);
        act_leave(&top->act);
        screen_close();
        return rc;
}

int command_top(int argc, char **argv)
{
        static struct top top = { .interval_ns = 1000 * NS_PER_MS, .model.sort = SORT_USED };
        struct error err = { 0 };
        int rc;

        options_parse(&(struct cli_options){ argc, argv, STATUS_WRONG }, &argp_top, 0, &top);
        top.grid.is_utf8 = terminal_is_utf8() && !top.is_ascii;
        top.source.terms.waits_long = top.is_once;
        rc = source_open(&top.source, &top.flags, &err);
        if (rc == 0)
                rc = top.is_once ? look_once(&top, &err) : read_snapshot(&top, &err);
        if (rc == 0)
                rc = top.is_once ? print_once(&top, &err) : run_live(&top, &err);
        keys_finish(&top.keys);
        model_finish(&top.model);
        grid_finish(&top.grid);
        source_close(&top.source);
        if (screen_signal())
                return child_end_alike(screen_signal());
        return rc < 0 ? command_fail("top", STATUS_NO, &err) : STATUS_YES;
}
