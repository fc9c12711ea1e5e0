/* SPDX-License-Identifier: Apache-2.0 */
#include "common/host_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/minmax.h"
#include "common/scoped.h"
#include "common/text.h"

/* Sizes of buffers, which are on the stacks of other people's threads and so are small. */
#define FILE_BYTES 4096 /* enough for memory.stat, the longest file */
#define NUMBER_BYTES 32
#define PATH_BYTES 1024
#define KEPT_FREE_PARTS 16u
#define DEFAULT_PARTS 2u
#define GRAIN_BYTES (UINT64_C(2) << 20)

/* Reads a file into `ret`, cut if it is longer than `bytes`. False: it cannot be read. */
static bool read_file(const char *folder, const char *name, char *ret, size_t bytes)
{
        char path[PATH_BYTES];
        scoped_fd int fd = -1;
        size_t got = 0;
        ssize_t n = 1;

        if (text_put(path, sizeof(path), NULL, "%s/%s", folder, name) < 0)
                return false;
        fd = open(path, O_RDONLY | O_CLOEXEC);
        while (fd >= 0 && n > 0 && got < bytes - 1) {
                n = read(fd, ret + got, bytes - 1 - got);
                got += n > 0 ? (size_t)n : 0;
        }
        ret[got] = '\0';
        return fd >= 0 && n >= 0;
}

/* Returns the number behind `word` at the beginning of a line, or `otherwise` if no line begins
 * so. */
static uint64_t number_behind(const char *text, const char *word, uint64_t otherwise)
{
        size_t length = strlen(word);

        for (const char *line = text; line; line = strchr(line, '\n')) {
                line += line[0] == '\n';
                if (strncmp(line, word, length) == 0 && strchr(" \t:", line[length]))
                        return strtoull(line + length + strspn(line + length, " \t:"), NULL, 10);
        }
        return otherwise;
}

/* Reads a file that contains one number; `otherwise` if it contains "max" or cannot be read. */
static uint64_t read_number(const char *folder, const char *name, uint64_t otherwise)
{
        char text[NUMBER_BYTES];

        if (!read_file(folder, name, text, sizeof(text)) || !text_is_digit(text[0]))
                return otherwise;
        return strtoull(text, NULL, 10);
}

/* The file names of one cgroup version. */
struct version {
        /* the beginning of the group's line in /proc/self/cgroup, up to the path */
        const char *line;
        const char *folder; /* folder of the groups below the mount point */
        const char *limit;
        const char *usage;
        /* name in memory.stat of the memory that the kernel can reclaim without loss */
        const char *cache;
};

static const struct version versions[] = {
        { "0::", "", "memory.max", "memory.current", "inactive_file" },
        { ":memory:", "/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
          "total_inactive_file" },
};

/* Reduces `memory` to what the limit of the group in `folder` leaves. */
static void narrow(struct host_memory *memory, const struct version *version, const char *folder)
{
        uint64_t limit = read_number(folder, version->limit, UINT64_MAX);
        uint64_t usage = read_number(folder, version->usage, 0), cache = 0;
        char text[FILE_BYTES];

        if (limit == UINT64_MAX)
                return;
        if (read_file(folder, "memory.stat", text, sizeof(text)))
                cache = number_behind(text, version->cache, 0);
        usage -= min_u64(cache, usage);
        memory->total_bytes = min_u64(memory->total_bytes, limit);
        memory->available_bytes = min_u64(memory->available_bytes, limit - min_u64(usage, limit));
}

/* Reduces `memory` by the limits of the group and all its parents, up to the mount point. */
static void narrow_all(struct host_memory *memory, const struct version *version,
                       const char *mount_point, const char *path)
{
        char folder[PATH_BYTES];
        size_t stem = strlen(mount_point) + strlen(version->folder);

        /* If the group is outside this process's cgroup namespace, its path begins with "/..", and
         * only the root of the namespace can be read. */
        if (text_begins(path, "/.."))
                path = "/";
        if (text_put(folder, sizeof(folder), NULL, "%s%s%.*s", mount_point, version->folder,
                     (int)strcspn(path, "\n"), path) < 0)
                return;
        for (char *end = folder + strlen(folder); end; end = strrchr(folder + stem, '/')) {
                *end = '\0';
                narrow(memory, version, folder);
        }
}

struct host_memory host_memory_read(const struct host_memory_place *place)
{
        struct host_memory memory = { 0 };
        char text[FILE_BYTES];

        if (!read_file(place->proc, "meminfo", text, sizeof(text)))
                return memory;
        memory.total_bytes = number_behind(text, "MemTotal", 0) << 10;
        memory.available_bytes = number_behind(text, "MemAvailable", 0) << 10;
        if (!read_file(place->proc, "self/cgroup", text, sizeof(text)))
                return memory;
        for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
                const char *line = strstr(text, versions[i].line);

                if (line)
                        narrow_all(&memory, &versions[i], place->cgroup,
                                   line + strlen(versions[i].line));
        }
        return memory;
}

static struct host_memory read_here(void)
{
        const struct host_memory_place here = { "/proc", "/sys/fs/cgroup" };
        int saved = errno;
        struct host_memory memory = host_memory_read(&here);

        errno = saved;
        return memory;
}

uint64_t host_memory_spare_of(const struct host_memory *memory)
{
        uint64_t kept_bytes = memory->total_bytes / KEPT_FREE_PARTS;

        return memory->available_bytes - min_u64(kept_bytes, memory->available_bytes);
}

uint64_t host_memory_spare(void)
{
        struct host_memory memory = read_here();

        return host_memory_spare_of(&memory);
}

uint64_t host_memory_default(void)
{
        return read_here().total_bytes / DEFAULT_PARTS / GRAIN_BYTES * GRAIN_BYTES;
}
