/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines of a level that the user set, from inside any process.
 *
 * Nothing is written until log_start() sets a level. Each line is formatted on the stack and
 * written with one write(2) to the file, which is opened for that line alone (no descriptor stays
 * open in another's process), or to standard error. Never standard output. errno survives.
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
        const char *program; /* the prefix of each line, borrowed for ever; NULL: "aliquot" */
};

/* Sets the destination and the level; any thread may call it, and the last call counts. */
void log_start(const struct log_config *config);

void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_line_of(enum log_level level, const char *format, va_list args)
        __attribute__((format(printf, 2, 0)));

/* One line on standard error at any level, for messages that the user must see. errno survives. */
void log_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* For one line per cause: true on the first call with `*told` (starts false). */
bool log_once(_Atomic bool *told);

/* For causes that others can trigger as often as they like: true if the next line is due, at most
 * once in ten seconds. `*told_ns` starts 0; `now_ns` is monotonic. One thread. */
bool log_due(uint64_t *told_ns, uint64_t now_ns);

/* "error", "warn", "info", "debug", "off"; any case. False: not a level. */
bool log_level_parse(const char *text, enum log_level *ret);

#endif
