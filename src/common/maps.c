/* SPDX-License-Identifier: Apache-2.0 */
#include "common/maps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "common/text.h"

int maps_open(struct maps *ret, const char *pid)
{
        struct maps maps = { 0 };
        char path[64];
        int rc = text_put(path, sizeof(path), NULL, "/proc/%s/maps", pid);

        if (rc < 0)
                return rc;
        maps.file = fopen(path, "re");
        if (!maps.file)
                return -errno;
        *ret = maps;
        return 0;
}

/* Reads a line: begin-end rights offset device inode path. Only the path has a slash. False: the
 * mapping is not of a file. */
static bool is_of_file(struct maps *maps)
{
        char *path = strchr(maps->line, '/');
        unsigned major_number, minor_number;

        maps->path = path;
        if (!path ||
            sscanf(maps->line, "%" SCNx64 "-%" SCNx64 " %*s %*s %x:%x %" SCNu64, &maps->begin,
                   &maps->end, &major_number, &minor_number, &maps->inode) != 5)
                return false;
        maps->device = makedev(major_number, minor_number);
        return maps->inode != 0;
}

bool maps_next(struct maps *maps)
{
        ssize_t length;

        while ((length = getline(&maps->line, &maps->room, maps->file)) > 0) {
                if (maps->line[length - 1] == '\n')
                        maps->line[length - 1] = '\0';
                if (is_of_file(maps))
                        return true;
        }
        return false;
}

bool maps_is_named(const struct maps *maps, const char *name)
{
        const char *slash = strrchr(maps->path, '/');
        size_t length = strlen(name);

        return strncmp(slash + 1, name, length) == 0 &&
               (!slash[1 + length] || strcmp(slash + 1 + length, " (deleted)") == 0);
}

int maps_find(const void *address, struct maps_file *ret)
{
        scoped_maps struct maps maps = { 0 };
        int rc = maps_open(&maps, "self");

        if (rc < 0)
                return rc;
        while (maps_next(&maps)) {
                if ((uintptr_t)address < maps.begin || (uintptr_t)address >= maps.end)
                        continue;
                *ret = (struct maps_file){ maps.device, maps.inode };
                return 0;
        }
        return -ENOENT;
}

int maps_has(const char *pid, const struct maps_file *file, const char *name)
{
        scoped_maps struct maps maps = { 0 };
        int rc = maps_open(&maps, pid);

        if (rc < 0)
                return rc;
        while (maps_next(&maps)) {
                if (maps.inode == file->inode && maps.device == file->device &&
                    maps_is_named(&maps, name))
                        return 1;
        }
        return ferror(maps.file) ? -EIO : 0;
}

void maps_close(struct maps *maps)
{
        if (maps->file)
                fclose(maps->file);
        free(maps->line);
        *maps = (struct maps){ 0 };
}
