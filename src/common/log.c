/* SPDX-License-Identifier: Apache-2.0 */
#include "common/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/text.h"

#define LINE_BYTES 1024

static const char *const level_names[] = { "off", "error", "warn", "info", "debug" };

/* `path` is written before `level` is released, and read after it was acquired. */
static struct {
        _Atomic int level;
        char path[1024];
} sink;

void log_start(const struct log_config *config)
{
        store_release(&sink.level, LOG_OFF);
        memcpy(sink.path, config->path, sizeof(sink.path));
        store_release(&sink.level, (int)config->level);
}

bool log_is_on(enum log_level level)
{
        return level != LOG_OFF && (int)level <= load_acquire(&sink.level);
}

static void write_line(const char *line, size_t bytes)
{
        int fd = STDERR_FILENO;

        if (sink.path[0])
                fd = open(sink.path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
        if (fd < 0)
                return;
        /* A log that cannot be written must not disturb the program: the loss is accepted. */
        if (write(fd, line, bytes) < 0)
                errno = 0;
        if (sink.path[0])
                close(fd);
}

void log_line(enum log_level level, const char *format, ...)
{
        int saved = errno;
        char line[LINE_BYTES];
        struct timespec now;
        struct text text;
        va_list args;
        size_t room;
        int length;

        if (!log_is_on(level))
                return;
        clock_gettime(CLOCK_REALTIME, &now);
        text_begin(&text, line, sizeof(line));
        text_add(&text, "aliquot: %lld.%03ld %d %s: ", (long long)now.tv_sec, now.tv_nsec / 1000000,
                 (int)syscall(SYS_gettid), level_names[level]);
        room = sizeof(line) - text.used - 1;
        va_start(args, format);
        length = vsnprintf(line + text.used, room, format, args);
        va_end(args);
        if (length > 0)
                text.used += (size_t)length < room ? (size_t)length : room - 1;
        line[text.used++] = '\n';
        write_line(line, text.used);
        errno = saved;
}

bool log_once(_Atomic bool *told)
{
        return !swap_acq_rel(told, true);
}

bool log_level_parse(const char *text, enum log_level *ret)
{
        for (unsigned i = 0; i < sizeof(level_names) / sizeof(level_names[0]); i++) {
                if (text_is_same(text, level_names[i])) {
                        *ret = (enum log_level)i;
                        return true;
                }
        }
        return false;
}
