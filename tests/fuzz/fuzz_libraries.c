/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the loader's cache and as a library on disk: an answer, and no read outside.
 */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "interpose/cache.h"
#include "interpose/object.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_absolute(const char *path)
{
        return path[0] == '/';
}

static void read_as_cache(const uint8_t *data, size_t size)
{
        char path[PATH_MAX];

        if (cache_find_in(data, size, "libcuda.so.1", is_absolute, path) && path[0] != '/')
                abort();
}

static void read_as_library(const uint8_t *data, size_t size)
{
        int fd = memfd_create("library", MFD_CLOEXEC);
        char path[64];

        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        if (write(fd, data, size) == (ssize_t)size)
                (void)elf_file_kind(path, "aliquot_is_us");
        close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        read_as_cache(data, size);
        read_as_library(data, size);
        return 0;
}
