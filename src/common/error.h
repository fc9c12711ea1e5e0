/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Error values that say what failed, why, and what was expected, without using the heap.
 *
 * A function that depends on input, files or other processes has `struct error *err` as its last
 * parameter, and returns 0 or more on success, a negative errno on failure. On failure it leaves
 * its other outputs unchanged; on success it leaves `err` unchanged. A caller adds its context to
 * the message with wrap(). `err` may be NULL everywhere: then only the code is reported. The error
 * is on the caller's stack and belongs to the caller.
 */
#ifndef ALIQUOT_COMMON_ERROR_H
#define ALIQUOT_COMMON_ERROR_H

struct error {
        int code;       /* negative errno */
        char text[512]; /* one line, lower case, no full stop; truncated if it does not fit */
};

/* Fills `err` and returns `code` (a negative errno), so that `return fail(...)` reads well. */
int fail(struct error *err, int code, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* Prepends the formatted context and ": " to the text, and returns the code of `err`. If `err` is
 * NULL the code is lost, and -EIO is returned. */
int wrap(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
