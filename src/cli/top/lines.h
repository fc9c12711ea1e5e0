/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The latest lines of a text that comes in pieces. Text is printable ASCII; a line that is too long
 * loses its end.
 */
#ifndef ALIQUOT_CLI_TOP_LINES_H
#define ALIQUOT_CLI_TOP_LINES_H

#include <stddef.h>

#define LINES_MAX 200u
#define LINES_BYTES 256u

/* Lines read from a descriptor; all zeroes at first. */
struct lines {
        unsigned count; /* that were ever begun; the last one may yet grow */
        size_t used;    /* of the last, incomplete line */
        char text[LINES_MAX][LINES_BYTES];
};

void lines_add(struct lines *lines, const char *bytes, size_t count);

/* The number of complete lines kept, and one of them: 0 is the oldest. */
unsigned lines_kept(const struct lines *lines);
const char *lines_at(const struct lines *lines, unsigned at);

#endif
