/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls are made without the C library, whose wrappers are cancellation points.
 */
#include "common/time_namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAMESPACE "/proc/self/ns/time"
#define NAMESPACE_OF_CHILDREN "/proc/self/ns/time_for_children"
#define OFFSETS_OF_CHILDREN "/proc/self/timens_offsets"
#define CLOCK "monotonic"

union time_namespace time_namespace;

/*
 * Whether this process is in the time namespace of its future children, whose offsets are those
 * that the kernel shows. The two namespaces differ only between unshare(CLONE_NEWTIME) and the next
 * exec. Then this process's own offset cannot be read.
 */
static bool is_that_of_children(void)
{
        char own[64], children[64];
        long own_bytes, children_bytes;

        own_bytes = syscall(SYS_readlinkat, AT_FDCWD, NAMESPACE, own, sizeof(own));
        children_bytes = syscall(SYS_readlinkat, AT_FDCWD, NAMESPACE_OF_CHILDREN, children,
                                 sizeof(children));
        return own_bytes > 0 && own_bytes == children_bytes &&
               memcmp(own, children, (size_t)own_bytes) == 0;
}

/* Reads a number such as "-12", and moves *at behind it. */
static int64_t number_read(const char **at)
{
        bool is_negative;
        int64_t number = 0;

        while (**at == ' ' || **at == '\t')
                (*at)++;
        is_negative = **at == '-';
        if (is_negative)
                (*at)++;
        for (; **at >= '0' && **at <= '9' && number < INT64_MAX / 100; (*at)++)
                number = number * 10 + (**at - '0');
        return is_negative ? -number : number;
}

static int64_t offset_of(const char *text)
{
        const char *at = strstr(text, CLOCK);
        int64_t seconds, ns;

        if (!at)
                return 0;
        at += strlen(CLOCK);
        seconds = number_read(&at);
        ns = number_read(&at);
        return (int64_t)((uint64_t)seconds * CLOCK_SECOND_NS + (uint64_t)ns);
}

static void remember(int64_t offset_ns)
{
        madvise(&time_namespace, sizeof(time_namespace), MADV_WIPEONFORK);
        store_relaxed(&time_namespace.known, (uint64_t)offset_ns + TIME_NAMESPACE_KNOWN);
}

int64_t time_namespace_look(void)
{
        int saved = errno;
        int64_t offset_ns = 0;
        char text[256];
        long fd, bytes;

        fd = syscall(SYS_openat, AT_FDCWD, OFFSETS_OF_CHILDREN, O_RDONLY | O_CLOEXEC);
        if (fd >= 0) {
                bytes = syscall(SYS_read, fd, text, sizeof(text) - 1);
                syscall(SYS_close, fd);
                text[bytes > 0 ? bytes : 0] = '\0';
                if (bytes > 0 && is_that_of_children()) {
                        offset_ns = offset_of(text);
                        remember(offset_ns);
                }
        } else if (errno != EMFILE && errno != ENFILE) {
                remember(0); /* Linux before 5.6, which has no time namespaces, or no /proc */
        }
        errno = saved;
        return offset_ns;
}
