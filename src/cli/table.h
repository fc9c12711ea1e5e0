/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of text for people: columns as wide as their widest cell, numbers to the right.
 *
 *      struct table table = { .titles = "NAME,#USED" };        // # : to the right
 *
 *      table_cell(&table, "%s", name);                         // row by row, left to right
 *      table_cell(&table, "%s", used);
 *      table_print(&table);                                    // and frees
 */
#ifndef ALIQUOT_CLI_TABLE_H
#define ALIQUOT_CLI_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct table {
        const char *titles; /* borrowed */
        char **cell;        /* owned */
        size_t count, room;
};

void table_cell(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
void table_print(struct table *table);

/* A cell of bytes; "-" for what has no limit. */
void table_bytes(struct table *table, uint64_t bytes);

#endif
