/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table for people: columns as wide as their widest cell, numbers aligned to the right.
 *
 *      struct table table = { .titles = "NAME,#USED" };        // # : to the right
 *
 *      table_cell(&table, "%s", name);                         // row by row, left to right
 *      table_cell(&table, "%s", used);
 *      table_print(&table);                                    // and frees
 *
 * A cell may contain text from an untrusted source: text_hide() is applied to every cell.
 *
 * After table_choose() only some columns are printed, but each row is still added with all its
 * cells. On a terminal that is too narrow, texts are cut, which a mark shows; numbers are not. In a
 * pipe nothing is cut.
 */
#ifndef ALIQUOT_CLI_TABLE_H
#define ALIQUOT_CLI_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

#define TABLE_COLUMNS 12u

struct table {
        const char *titles; /* titles separated by commas; borrowed */
        /* indices of the columns to print; count 0: all columns, in their own order */
        unsigned chosen[TABLE_COLUMNS], chosen_count;
        char **cell; /* owned */
        size_t count, room;
};

void table_cell(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
void table_print(struct table *table);

/* Selects the columns whose titles are in `fields`, in any case, separated by commas, and in that
 * order. -EINVAL: a column does not exist. */
int table_choose(struct table *table, const char *fields, struct error *err);

/* Adds a cell with a number of bytes; "-" for no limit. */
void table_bytes(struct table *table, uint64_t bytes);

#endif
