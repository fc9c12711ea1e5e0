/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines for whoever asked for them, from inside any process.
 *
 * Nothing is written until log_start() was given a level. Each line is formatted on the stack and
 * written with one write(2) to the file, which is opened for that line alone (no descriptor is kept
 * in somebody else's process), or to standard error. Never standard output. errno survives.
 */
#ifndef ALIQUOT_COMMON_LOG_H
#define ALIQUOT_COMMON_LOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_OFF, LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

struct log_config {
        enum log_level level;
        char path[1024];     /* "" = standard error */
        const char *program; /* begins each line, borrowed for ever; NULL: "aliquot" */
};

/* Says where lines go and which; any thread may, and the last call counts. */
void log_start(const struct log_config *config);

void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_line_of(enum log_level level, const char *format, va_list args)
        __attribute__((format(printf, 2, 0)));

/* One line on standard error, whatever the level: for what the user must know. errno survives. */
void log_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* One line a cause: true the first time it is asked about `*told` (starts false). */
bool log_once(_Atomic bool *told);

/* One line in ten seconds, of what others can bring about as often as they like: whether it is time
 * for the next one. `*told_ns` starts 0; `now_ns` is monotonic. One thread. */
bool log_due(uint64_t *told_ns, uint64_t now_ns);

/* "error", "warn", "info", "debug", "off"; any case. False: not a level. */
bool log_level_parse(const char *text, enum log_level *ret);

#endif
