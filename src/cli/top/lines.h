/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the latest lines of a text that arrives in pieces. The text becomes printable ASCII; a line
 * that is too long loses its end.
 */
#ifndef ALIQUOT_CLI_TOP_LINES_H
#define ALIQUOT_CLI_TOP_LINES_H

#include <stddef.h>

#define LINES_MAX 200u
#define LINES_BYTES 256u

/* Lines read from a descriptor; all zeroes at first. */
struct lines {
        unsigned count; /* number of lines ever begun; the last one may be incomplete */
        size_t used;    /* length of the last, incomplete line */
        char text[LINES_MAX][LINES_BYTES];
};

void lines_add(struct lines *lines, const char *bytes, size_t count);

/* lines_kept() returns the number of complete lines that are kept, lines_at() one of them; 0 is the
 * oldest. */
unsigned lines_kept(const struct lines *lines);
const char *lines_at(const struct lines *lines, unsigned at);

#endif
