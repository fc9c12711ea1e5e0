/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Error values that say what failed, why and what was expected, without using the heap.
 *
 * A function that talks to the outside takes `struct error *err` last and returns 0 or more on
 * success, a negative errno on failure. On failure it leaves its outputs untouched; on success,
 * `err`. Outer layers prepend their context with wrap(). `err` may be NULL everywhere: then only
 * the code is reported. An error lives on its caller's stack and belongs to it.
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

/* Prepends "context: " to the text and returns the code of `err`; -EIO if `err` is NULL, since the
 * code is then lost. */
int wrap(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
