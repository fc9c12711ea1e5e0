/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of GPUs in top (view_parts.h): memory of sessions and of others, and the gauges.
 *
 * A value that the driver does not report is shown as "-". If there is no room for all GPUs, the
 * last line says how many are not shown.
 */
#include "cli/top/view_parts.h"

#include "common/units.h"

enum { GPU, NAME, MEMORY, USED, CARD, OTHERS, BUSY, LINE, TEMPERATURE, POWER, COLUMNS };

static const struct column columns_of_devices[COLUMNS] = {
        [GPU] = { "GPU", .least = 5 },
        [NAME] = { "NAME", .least = 8, .most = 24, .weight = 2, .rank = 3 },
        [MEMORY] = { "MEMORY", .least = 16, .most = 60, .weight = 4 },
        [USED] = { "USED", .least = 10, .is_right = true },
        [CARD] = { "CARD", .least = 10, .is_right = true, .rank = 2 },
        [OTHERS] = { "OTHERS", .least = 10, .is_right = true, .rank = 7 },
        [BUSY] = { "BUSY", .least = 4, .is_right = true, .rank = 1 },
        [LINE] = { "", .least = 6, .most = 40, .weight = 2, .rank = 6 },
        [TEMPERATURE] = { "TEMP", .least = 4, .is_right = true, .rank = 4 },
        [POWER] = { "POWER", .least = 8, .is_right = true, .rank = 5 },
};

static void draw_name(const struct view_line *line, const struct snapshot_device *device)
{
        struct grid_place gpu = view_place(line, GPU, GRID_BOLD);
        struct grid_place name = view_place(line, NAME, GRID_PLAIN);

        if (device->index < 0)
                grid_text(line->grid, &gpu, "-");
        else
                grid_text(line->grid, &gpu, device->is_instance ? "%d MIG" : "%d", device->index);
        grid_text(line->grid, &name, "%s", device->name[0] ? device->name : device->short_uuid);
}

static void draw_memory(const struct view_line *line, const struct snapshot_device *device)
{
        struct grid_place bar = view_place(line, MEMORY, GRID_GREEN);
        struct grid_place used = view_place(line, USED, GRID_PLAIN);
        struct grid_place card = view_place(line, CARD, GRID_PLAIN);
        struct grid_place others = view_place(line, OTHERS, GRID_CYAN);
        char text[SIZE_TEXT_BYTES];
        uint64_t rest = snapshot_others(device);

        grid_bar(line->grid, &bar, snapshot_permille(device->sessions_bytes, device->total_bytes),
                 snapshot_permille(rest, device->total_bytes));
        grid_right(line->grid, &used, view_bytes(device->used_bytes, text));
        grid_right(line->grid, &card,
                   device->total_bytes ? view_bytes(device->total_bytes, text) : "-");
        /* without the driver's figure, the memory of other programs is unknown */
        grid_right(line->grid, &others, device->index < 0 ? "-" : view_bytes(rest, text));
}

static void draw_number(const struct view_line *line, unsigned at, int value, const char *unit)
{
        struct grid_place place = view_place(line, at, GRID_PLAIN);
        char text[32];

        snprintf(text, sizeof(text), "%d%s", value, unit);
        grid_right(line->grid, &place, value < 0 ? "-" : text);
}

static void draw_gauges(const struct view_line *line, const struct gauges *gauges)
{
        char limit[24];

        draw_number(line, BUSY, gauges->busy_percent, "%");
        draw_number(line, TEMPERATURE, gauges->celsius, "C");
        snprintf(limit, sizeof(limit), "/%dW", gauges->power_limit_watts);
        draw_number(line, POWER, gauges->power_watts, gauges->power_limit_watts < 0 ? "W" : limit);
}

static void draw_device(const struct view_line *line, const struct view_frame *frame, unsigned at)
{
        const struct snapshot_device *device = &frame->model->now->device[at];
        struct grid_place history = view_place(line, LINE, GRID_GREEN);

        draw_name(line, device);
        draw_memory(line, device);
        draw_gauges(line, &device->gauges);
        grid_history(line->grid, &history, &frame->model->device[at].busy);
}

int devices_draw(struct grid *grid, const struct view_frame *frame, int row, int rows)
{
        const struct snapshot *now = frame->model->now;
        struct column column[COLUMNS];
        struct columns columns;
        struct view_line line = { grid, frame, &columns, row + 1 };
        unsigned shown = now->device_count;

        for (unsigned i = 0; i < COLUMNS; i++)
                column[i] = columns_of_devices[i];
        if (frame->is_once)
                column[LINE].most = column[LINE].least = 0;
        columns_fit(&columns, column, COLUMNS, grid->columns);
        view_titles(grid, row, column, &columns);
        if (shown + 1 > (unsigned)rows)
                shown = rows > 2 ? (unsigned)rows - 2 : 0;
        for (unsigned i = 0; i < shown; i++, line.row++)
                draw_device(&line, frame, i);
        if (shown < now->device_count || now->note[0]) {
                struct grid_place place = { line.row++, 0, grid->columns, GRID_DIM };

                if (shown < now->device_count)
                        grid_text(grid, &place, "and %u more: this screen has no room for them",
                                  now->device_count - shown);
                else
                        grid_text(grid, &place, "%s", now->note);
        }
        return line.row - row;
}
