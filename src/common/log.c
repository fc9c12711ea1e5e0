/* SPDX-License-Identifier: Apache-2.0 */
#include "common/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/quiet.h"
#include "common/text.h"

#define LINE_BYTES 1024
#define DUE_NS UINT64_C(10000000000)

static const char *const level_names[] = { "off", "error", "warn", "info", "debug" };

/* The configuration. `level` is stored last with release and loaded first with acquire, so that it
 * orders the accesses to the other fields. */
static struct {
        _Atomic int level;
        char path[1024];
        const char *program;
} sink;

void log_start(const struct log_config *config)
{
        store_release(&sink.level, LOG_OFF);
        memcpy(sink.path, config->path, sizeof(sink.path));
        sink.program = config->program ? config->program : "aliquot";
        store_release(&sink.level, (int)config->level);
}

static bool is_on(enum log_level level)
{
        return level != LOG_OFF && (int)level <= load_acquire(&sink.level);
}

/* Writes the line. A line that cannot be written is lost: an error, such as a pipe without a
 * reader, must not disturb the program. */
static void write_line(int fd, const struct text *line)
{
        struct quiet quiet;
        ssize_t written;

        quiet_begin(&quiet);
        written = write(fd, line->at, line->used);
        (void)written;
        quiet_end(&quiet);
}

/* Adds the formatted text, cut if it does not fit, and the newline. */
static void end_line(struct text *line, const char *format, va_list args)
{
        size_t begin = line->used, room = line->bytes - line->used - 1;
        int length = vsnprintf(line->at + line->used, room, format, args);

        if (length > 0)
                line->used += (size_t)length < room ? (size_t)length : room - 1;
        line->at[line->used] = '\0';
        text_hide(line->at + begin);
        line->at[line->used++] = '\n';
}

void log_tell(const char *format, ...)
{
        int saved = errno;
        char bytes[LINE_BYTES];
        struct text line;
        va_list args;

        text_begin(&line, bytes, sizeof(bytes));
        va_start(args, format);
        end_line(&line, format, args);
        va_end(args);
        write_line(STDERR_FILENO, &line);
        errno = saved;
}

/* Reports once that the log file cannot be opened. A fifo without a reader (ENXIO) is not reported,
 * since the reader may come later. */
static void tell_unopened(const char *path, int error)
{
        static _Atomic bool told;

        if (error == ENXIO || !log_once(&told))
                return;
        if (error == ELOOP) {
                log_tell("aliquot: the log file %s cannot be opened: links are not followed", path);
                return;
        }
        errno = error;
        log_tell("aliquot: the log file %s cannot be opened: %m", path);
}

/* Appends the line to the file. Links are not followed. Otherwise a user who can write in the
 * file's folder could put a link there, and make another user's program write to a file of that
 * other user. */
static void write_to_file(const char *path, const struct text *line)
{
        const int flags =
                O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW;
        struct quiet quiet;
        int fd, error;

        quiet_begin(&quiet);
        fd = open(path, flags, 0600);
        error = errno;
        if (fd >= 0) {
                write_line(fd, line);
                close(fd);
        }
        quiet_end(&quiet);
        if (fd < 0)
                tell_unopened(path, error);
}

void log_line_of(enum log_level level, const char *format, va_list args)
{
        int saved = errno;
        char bytes[LINE_BYTES];
        struct timespec now;
        struct text line;

        if (!is_on(level))
                return;
        clock_gettime(CLOCK_REALTIME, &now);
        text_begin(&line, bytes, sizeof(bytes));
        text_add(&line, "%s: %lld.%03ld %d %s: ", sink.program, (long long)now.tv_sec,
                 now.tv_nsec / 1000000, (int)syscall(SYS_gettid), level_names[level]);
        end_line(&line, format, args);
        if (sink.path[0])
                write_to_file(sink.path, &line);
        else
                write_line(STDERR_FILENO, &line);
        errno = saved;
}

void log_line(enum log_level level, const char *format, ...)
{
        va_list args;

        va_start(args, format);
        log_line_of(level, format, args);
        va_end(args);
}

bool log_once(_Atomic bool *told)
{
        return !swap_acq_rel(told, true);
}

bool log_due(uint64_t *told_ns, uint64_t now_ns)
{
        if (*told_ns && now_ns - *told_ns < DUE_NS)
                return false;
        *told_ns = now_ns;
        return true;
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
