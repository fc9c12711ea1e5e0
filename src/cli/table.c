/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table.h"

#include <err.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/terminal.h"
#include "common/text.h"
#include "common/units.h"
#include "proto/page.h"

#define GAP 2
#define MIN_WIDTH 12 /* minimum width of a column that is cut; its title fits */

void table_cell(struct table *table, const char *format, ...)
{
        va_list args;

        if (table->count == table->room) {
                table->room = table->room ? table->room * 2 : 64;
                table->cell = reallocarray(table->cell, table->room, sizeof(*table->cell));
                if (!table->cell)
                        err(1, "table");
        }
        va_start(args, format);
        if (vasprintf(&table->cell[table->count], format, args) < 0)
                err(1, "table");
        va_end(args);
        text_hide(table->cell[table->count++]);
}

void table_bytes(struct table *table, uint64_t bytes)
{
        char text[SIZE_TEXT_BYTES];

        table_cell(table, "%s", bytes == PAGE_UNLIMITED ? "-" : size_format(bytes, text));
}

struct table_column {
        const char *title;
        int title_width;
        int width;
        bool is_right;
};

static unsigned read_titles(const char *titles, struct table_column column[TABLE_COLUMNS])
{
        unsigned count = 0;

        while (count < TABLE_COLUMNS) {
                size_t length;

                column[count].is_right = titles[0] == '#';
                titles += column[count].is_right;
                length = strcspn(titles, ",");
                column[count].title = titles;
                column[count].title_width = (int)length;
                column[count].width = (int)length;
                count++;
                if (!titles[length])
                        break;
                titles += length + 1;
        }
        return count;
}

static int fail_unknown(const struct table_column *column, unsigned columns, const char *fields,
                        struct error *err)
{
        char known[128];
        struct text text;

        text_begin(&text, known, sizeof(known));
        for (unsigned i = 0; i < columns; i++)
                text_add(&text, "%s%.*s", i ? ", " : "", column[i].title_width, column[i].title);
        for (char *c = known; *c; c++)
                *c = text_lower(*c);
        return fail(err, -EINVAL, "-o %s: expected columns out of %s, with commas between",
                    text_shown(fields), known);
}

static unsigned find_column(const struct table_column *column, unsigned columns, const char *field,
                            size_t length)
{
        unsigned i = 0;

        while (length && field[0] == ' ') {
                field++;
                length--;
        }
        while (length && field[length - 1] == ' ')
                length--;
        while (i < columns && (length != (size_t)column[i].title_width ||
                               strncasecmp(column[i].title, field, length) != 0))
                i++;
        return i;
}

int table_choose(struct table *table, const char *fields, struct error *err)
{
        struct table_column column[TABLE_COLUMNS];
        unsigned columns = read_titles(table->titles, column);
        unsigned chosen[TABLE_COLUMNS], count = 0;
        const char *field = fields;

        for (;;) {
                size_t length = strcspn(field, ",");
                unsigned at = find_column(column, columns, field, length);

                if (at == columns || count == TABLE_COLUMNS)
                        return fail_unknown(column, columns, fields, err);
                chosen[count++] = at;
                if (!field[length])
                        break;
                field += length + 1;
        }
        memcpy(table->chosen, chosen, sizeof(chosen));
        table->chosen_count = count;
        return 0;
}

static void choose_all(struct table *table, unsigned columns)
{
        for (unsigned i = 0; i < columns; i++)
                table->chosen[i] = i;
        table->chosen_count = columns;
}

/* -- Narrow terminals ------------------------------------------------------------------------- */

static struct table_column *widest(struct table_column *column, const struct table *table)
{
        struct table_column *found = NULL;

        for (unsigned i = 0; i < table->chosen_count; i++) {
                struct table_column *at = &column[table->chosen[i]];

                if (!at->is_right && at->width > MIN_WIDTH && at->width > at->title_width &&
                    (!found || at->width > found->width))
                        found = at;
        }
        return found;
}

static int width_of(const struct table_column *column, const struct table *table)
{
        int width = -GAP;

        for (unsigned i = 0; i < table->chosen_count; i++)
                width += column[table->chosen[i]].width + GAP;
        return width;
}

/* Makes columns narrower until the table fits. Numbers are never cut; the widest text column is cut
 * first. */
static void narrow_columns(struct table_column *column, const struct table *table)
{
        int room = terminal_columns();
        struct table_column *at;

        while (room > 0 && width_of(column, table) > room && (at = widest(column, table)))
                at->width--;
}

static const char *cut_mark(void)
{
        return terminal_is_utf8() ? "\xe2\x80\xa6" : "~";
}

/* -- Printing --------------------------------------------------------------------------------- */

/* Returns the number of bytes to print of a text that is wider than `width`; never splits a
 * character. */
static int cut_length(const char *text, int width)
{
        int length = width - 1;

        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
                length--;
        return length;
}

/* Prints a cell. The last cell of a line is not padded with spaces. */
static void print_cell(const struct table_column *column, const char *text, int length,
                       bool is_last)
{
        bool is_cut = length > column->width;
        int shown = is_cut ? cut_length(text, column->width) : length;
        int fill = column->width - shown - is_cut;

        printf("%*s%.*s%s", column->is_right ? fill : 0, "", shown, text, is_cut ? cut_mark() : "");
        if (is_last)
                putchar('\n');
        else
                printf("%*s", GAP + (column->is_right ? 0 : fill), "");
}

void table_print(struct table *table)
{
        struct table_column column[TABLE_COLUMNS];
        unsigned columns = read_titles(table->titles, column);

        if (table->chosen_count == 0)
                choose_all(table, columns);
        for (size_t i = 0; i < table->count; i++) {
                int length = (int)strlen(table->cell[i]);

                if (length > column[i % columns].width)
                        column[i % columns].width = length;
        }
        narrow_columns(column, table);
        for (unsigned i = 0; i < table->chosen_count; i++) {
                const struct table_column *at = &column[table->chosen[i]];

                print_cell(at, at->title, at->title_width, i + 1 == table->chosen_count);
        }
        for (size_t row = 0; row < table->count; row += columns) {
                for (unsigned i = 0; i < table->chosen_count; i++) {
                        const char *cell = table->cell[row + table->chosen[i]];

                        print_cell(&column[table->chosen[i]], cell, (int)strlen(cell),
                                   i + 1 == table->chosen_count);
                }
        }
        for (size_t i = 0; i < table->count; i++)
                free(table->cell[i]);
        free(table->cell);
        table->cell = NULL;
        table->count = table->room = 0;
}
