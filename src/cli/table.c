/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table.h"

#include <err.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"
#include "proto/page.h"

#define COLUMNS 12u
#define GAP 2

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
        if (vasprintf(&table->cell[table->count++], format, args) < 0)
                err(1, "table");
        va_end(args);
}

void table_bytes(struct table *table, uint64_t bytes)
{
        char text[SIZE_TEXT_BYTES];

        table_cell(table, "%s", bytes == PAGE_UNLIMITED ? "-" : size_format(bytes, text));
}

struct column {
        const char *title;
        int title_width;
        int width;
        bool is_right;
};

static unsigned read_titles(const char *titles, struct column column[COLUMNS])
{
        unsigned count = 0;

        while (count < COLUMNS) {
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

/* The last cell of a line is not filled up with spaces. */
static void print_cell(const struct column *column, const char *text, int length, bool is_last)
{
        int fill = column->width - length;

        if (column->is_right)
                printf("%*s%.*s", fill, "", length, text);
        else
                printf("%.*s%*s", length, text, is_last ? 0 : fill, "");
        printf("%*s", is_last ? 0 : GAP, "");
        if (is_last)
                putchar('\n');
}

void table_print(struct table *table)
{
        struct column column[COLUMNS];
        unsigned columns = read_titles(table->titles, column);

        for (size_t i = 0; i < table->count; i++) {
                int length = (int)strlen(table->cell[i]);

                if (length > column[i % columns].width)
                        column[i % columns].width = length;
        }
        for (unsigned i = 0; i < columns; i++)
                print_cell(&column[i], column[i].title, column[i].title_width, i + 1 == columns);
        for (size_t i = 0; i < table->count; i++) {
                print_cell(&column[i % columns], table->cell[i], (int)strlen(table->cell[i]),
                           i % columns + 1 == columns);
                free(table->cell[i]);
        }
        free(table->cell);
        table->cell = NULL;
        table->count = table->room = 0;
}
