/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes log lines of a level that the user set, from inside any process.
 *
 * No line is written until log_start() sets a level. Each line is formatted on the stack and
 * written with one write(2) to the file, or to standard error, never to standard output. The file
 * is opened for each line, so that no descriptor stays open in another's process. errno is kept.
 */
#ifndef ALIQUOT_COMMON_LOG_H
#define ALIQUOT_COMMON_LOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_OFF, LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

struct log_config {
        enum log_level level;
        char path[1024];     /* the log file; "": standard error */
        const char *program; /* prefix of each line, borrowed for ever; NULL: "aliquot" */
};

/* Sets the destination and the level. Any thread may call it; the last call counts. */
void log_start(const struct log_config *config);

/* Writes a line if `level` is logged. */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_line_of(enum log_level level, const char *format, va_list args)
        __attribute__((format(printf, 2, 0)));

/* Writes one line to standard error at any log level, for messages that the user must see. errno
 * is kept. */
void log_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* For a cause that is logged only once: returns true on the first call with `*told`, which starts
 * as false. */
bool log_once(_Atomic bool *told);

/* For a cause that others can trigger as often as they like: returns true if its next line may be
 * written, at most once in ten seconds. `*told_ns` starts as 0; `now_ns` is monotonic. One thread
 * at a time. */
bool log_due(uint64_t *told_ns, uint64_t now_ns);

/* Parses "error", "warn", "info", "debug" or "off", in any case. False: `text` is not a level. */
bool log_level_parse(const char *text, enum log_level *ret);

#endif
