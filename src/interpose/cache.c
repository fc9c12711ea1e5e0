/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file has a header of 48 bytes, then `count` entries of 24 bytes, then strings; string offsets
 * are from the header. Entries for other machines are recognised by `accept`, which reads the
 * library's file, and not by their flags, whose meaning differs between ports of glibc.
 */
#include "interpose/cache.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "common/minmax.h"
#include "common/scoped.h"

#define CACHE_FILE "/etc/ld.so.cache"
#define CACHE_MAGIC "glibc-ld.so.cache1.1"
/* the header is searched in this many bytes, since an older table may precede it */
#define CACHE_SEARCH_BYTES (1u << 20)

struct cache_head {
        char magic[20];
        uint32_t count;
        uint32_t strings_bytes;
        uint32_t unused[5];
};

struct cache_entry {
        int32_t flags;
        uint32_t key;
        uint32_t value;
        uint32_t os_version;
        uint32_t hwcap[2];
};

_Static_assert(sizeof(struct cache_head) == 48, "as ldconfig writes it");
_Static_assert(sizeof(struct cache_entry) == 24, "as ldconfig writes it");

/* Returns the string at `offset` if it is terminated inside the file, else NULL. */
static const char *cache_string(const char *bytes, size_t size, uint32_t offset)
{
        if (offset >= size || !memchr(bytes + offset, '\0', size - offset))
                return NULL;
        return bytes + offset;
}

bool cache_find_in(const void *all, size_t all_size, const char *soname,
                   bool (*accept)(const char *path), char *ret_path)
{
        size_t searched = min_u64(all_size, CACHE_SEARCH_BYTES);
        const char *bytes = memmem(all, searched, CACHE_MAGIC, sizeof(CACHE_MAGIC) - 1);
        size_t size = bytes ? all_size - (size_t)(bytes - (const char *)all) : 0;
        struct cache_head head;

        if (size < sizeof(head))
                return false;
        memcpy(&head, bytes, sizeof(head));
        if (head.count > (size - sizeof(head)) / sizeof(struct cache_entry))
                return false;
        for (uint32_t i = 0; i < head.count; i++) {
                struct cache_entry entry;
                const char *key, *value;

                memcpy(&entry, bytes + sizeof(head) + i * sizeof(entry), sizeof(entry));
                key = cache_string(bytes, size, entry.key);
                value = cache_string(bytes, size, entry.value);
                if (!key || !value || strcmp(key, soname) != 0 || !accept(value))
                        continue;
                if (snprintf(ret_path, PATH_MAX, "%s", value) < PATH_MAX)
                        return true;
        }
        return false;
}

bool cache_find(const char *soname, bool (*accept)(const char *path), char *ret_path)
{
        scoped_fd int fd = open(CACHE_FILE, O_RDONLY | O_CLOEXEC);
        off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
        void *bytes;
        bool is_found;

        if (size <= 0)
                return false;
        bytes = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED)
                return false;
        is_found = cache_find_in(bytes, (size_t)size, soname, accept, ret_path);
        munmap(bytes, (size_t)size);
        return is_found;
}
