/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creates kept folders. All files are read into memory, first to compute the folder's name and then
 * to write or compare them; they have some MiB.
 */
#include "cli/cdi/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cdi/files.h"
#include "common/hash.h"
#include "common/scoped.h"
#include "common/text.h"

struct content {
        char *bytes; /* owned */
        size_t count;
};

static void content_end(struct content *content)
{
        free(content->bytes);
}

#define scoped_content __attribute__((cleanup(content_end)))

static int read_content(const struct kept_file *file, struct content *ret, struct error *err)
{
        if (file->source)
                return files_read(file->source, &ret->bytes, &ret->count, err);
        ret->bytes = strdup(file->text);
        ret->count = strlen(file->text);
        return ret->bytes ? 0 : fail(err, -ENOMEM, "%s: out of memory", file->name);
}

/* Two contents with the same hash cannot get the same folder, because an existing folder is
 * compared. */
static int hash_files(const struct kept_file *files, unsigned count, uint64_t *ret,
                      struct error *err)
{
        uint64_t hash = HASH_BASIS;

        for (unsigned i = 0; i < count; i++) {
                scoped_content struct content content = { 0 };
                int rc = read_content(&files[i], &content, err);

                if (rc < 0)
                        return rc;
                hash = hash_bytes(hash, files[i].name, strlen(files[i].name) + 1);
                hash = hash_bytes(hash, &content.count, sizeof(content.count));
                hash = hash_bytes(hash, content.bytes, content.count);
        }
        *ret = hash;
        return 0;
}

/* Creates the subfolder that contains a file. */
static int make_parent(const char *path, struct error *err)
{
        char parent[PATH_MAX];
        int rc = text_put(parent, sizeof(parent), err, "%.*s", (int)(strrchr(path, '/') - path),
                          path);

        return rc < 0 ? rc : files_make_folder(parent, err);
}

static int write_one(const char *folder, const struct kept_file *file, struct error *err)
{
        struct content content = { 0 };
        char path[PATH_MAX];
        int rc = read_content(file, &content, err);

        if (rc == 0)
                rc = text_put(path, sizeof(path), err, "%s/%s", folder, file->name);
        if (rc == 0)
                rc = make_parent(path, err);
        if (rc == 0)
                rc = files_write(path, content.bytes, content.count, err);
        content_end(&content);
        return rc;
}

static bool is_same(const struct content *one, const struct content *other)
{
        return one->count == other->count &&
               (one->count == 0 || memcmp(one->bytes, other->bytes, one->count) == 0);
}

static int compare_one(const char *folder, const struct kept_file *file, struct error *err)
{
        struct content wanted = { 0 }, there = { 0 };
        char path[PATH_MAX];
        int rc = read_content(file, &wanted, err);

        if (rc == 0)
                rc = text_put(path, sizeof(path), err, "%s/%s", folder, file->name);
        if (rc == 0)
                rc = files_read(path, &there.bytes, &there.count, err);
        if (rc == 0 && !is_same(&wanted, &there))
                rc = fail(err, -EEXIST,
                          "%s is not what the name of its folder says; remove the folder", path);
        content_end(&wanted);
        content_end(&there);
        return rc;
}

static int each(const char *folder, const struct kept_file *files, unsigned count,
                int (*one)(const char *folder, const struct kept_file *file, struct error *err),
                struct error *err)
{
        int rc = 0;

        for (unsigned i = 0; rc == 0 && i < count; i++)
                rc = one(folder, &files[i], err);
        return rc;
}

/* Creates the folder under its name, either complete or not at all. */
static int make_folder(const char *path, const struct kept_file *files, unsigned count,
                       struct error *err)
{
        char made[PATH_MAX];
        int rc = text_put(made, sizeof(made), err, "%s.new-%d", path, (int)getpid());

        /* It may be left from a process with the same pid that was killed. */
        files_remove_folder(made);
        if (rc == 0)
                rc = files_make_folder(made, err);
        if (rc == 0)
                rc = each(made, files, count, write_one, err);
        if (rc == 0 && rename(made, path) < 0 && errno != EEXIST && errno != ENOTEMPTY)
                rc = fail(err, -errno, "%s: %m", path);
        files_remove_folder(made);
        return rc < 0 ? rc : files_sync_parent(path, err);
}

int kept_make(const char *libraries, const struct kept_file *files, unsigned count,
              char ret[PATH_MAX], struct error *err)
{
        char path[PATH_MAX];
        uint64_t hash = 0;
        int rc = hash_files(files, count, &hash, err);

        if (rc == 0)
                rc = text_put(path, sizeof(path), err, "%s/%016llx", libraries,
                              (unsigned long long)hash);
        if (rc == 0)
                rc = files_make_folder(libraries, err);
        if (rc == 0 && access(path, F_OK) < 0)
                rc = make_folder(path, files, count, err);
        if (rc == 0)
                rc = each(path, files, count, compare_one, err);
        if (rc == 0)
                memcpy(ret, path, strlen(path) + 1);
        return rc;
}
