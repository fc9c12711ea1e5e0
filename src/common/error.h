/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors that say what, why and what was expected, without touching the heap.
 *
 * A function that talks to the outside takes `struct error *err` last and returns 0 or more for
 * good, a negative errno for bad. On failure outputs are untouched; on success `err` is. Outer
 * layers put their context in front with wrap(). `err` may be NULL everywhere: then only the code
 * is told. An error lives on its caller's stack and belongs to it.
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

/* Puts "context: " in front of the text and returns the code already there; -EIO where `err` is
 * NULL, since nothing else kept the code. */
int wrap(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
