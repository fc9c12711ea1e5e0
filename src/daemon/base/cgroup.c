/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/base/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/scoped.h"
#include "common/text.h"

/* Size of the whole file. It has one line per hierarchy, and the kernel refuses to print a path
 * longer than 4095 characters. */
#define TEXT_BYTES (CONTAINER_LINES * 4352u)
#define MOUNTS_MAX 32u
#define DEPTH_MAX 8u
#define THREADS_MAX 256u /* of a process whose first thread has exited: so many are asked */
/* maximum number of folders to search in version 1, where a tenant may have created many below its
 * own */
#define FOLDERS_MAX 256u

/* -- Mounted hierarchies ---------------------------------------------------------------------- */

struct mounted {
        char controllers[128]; /* options of the mount, such as "rw,cpu,cpuacct"; "": version 2 */
        char path[CGROUP_PATH_BYTES];
};

static struct {
        unsigned count;
        struct mounted at[MOUNTS_MAX];
} mounts;

/* Reads a line of mountinfo such as "32 31 0:29 / /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup
 * rw,cpu". Skips a mount whose root is not "/", because it shows only a part of the hierarchy,
 * under other paths. */
static bool read_mount(char *line, struct mounted *ret)
{
        char root[8], path[CGROUP_PATH_BYTES], type[16], options[128];
        const char *rest = strstr(line, " - ");

        if (!rest || sscanf(line, "%*u %*u %*s %7s %319s", root, path) != 2 ||
            sscanf(rest, " - %15s %*s %127s", type, options) != 2)
                return false;
        if (strcmp(root, "/") != 0 || strchr(path, '\\'))
                return false;
        if (strcmp(type, "cgroup2") != 0 && strcmp(type, "cgroup") != 0)
                return false;
        text_put(ret->controllers, sizeof(ret->controllers), NULL, "%s",
                 strcmp(type, "cgroup") == 0 ? options : "");
        text_put(ret->path, sizeof(ret->path), NULL, "%s", path);
        return true;
}

static void read_mounts(void)
{
        scoped_file FILE *file = fopen("/proc/self/mountinfo", "re");
        scoped_free char *line = NULL;
        size_t room = 0;

        mounts.count = 0;
        while (file && mounts.count < MOUNTS_MAX && getline(&line, &room, file) > 0)
                mounts.count += read_mount(line, &mounts.at[mounts.count]);
}

/* Whether the mounted hierarchy has the first of the line's controllers; both without any: version
 * 2. */
static bool has_controller(const struct mounted *mount, const struct container_line *line)
{
        const char *comma = memchr(line->controllers, ',', line->controllers_bytes);
        const size_t bytes = comma ? (size_t)(comma - line->controllers) : line->controllers_bytes;

        if (!bytes || !mount->controllers[0])
                return !bytes && !mount->controllers[0];
        for (const char *at = mount->controllers; at; at = strchr(at, ',')) {
                at += *at == ',';
                if (strncmp(at, line->controllers, bytes) == 0 && (at[bytes] == ',' || !at[bytes]))
                        return true;
        }
        return false;
}

/* -- The container of a process --------------------------------------------------------------- */

static ssize_t read_again(int fd, char *ret, size_t bytes)
{
        ssize_t got;

        do
                got = read(fd, ret, bytes);
        while (got < 0 && errno == EINTR);
        return got;
}

static int read_text(const char *path, char *ret, size_t bytes, size_t *ret_used, struct error *err)
{
        scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t got = fd;

        *ret_used = 0;
        while (got >= 0) {
                got = read_again(fd, ret + *ret_used, bytes - *ret_used);
                if (got == 0 && *ret_used < bytes)
                        return 0;
                if (got == 0)
                        return fail(err, -EPROTO, "its control groups are too long");
                if (got > 0)
                        *ret_used += (size_t)got;
        }
        if (errno == ENOENT || errno == ESRCH)
                return fail(err, -ENOENT, "its process is gone");
        return fail(err, -EPROTO, "its control groups cannot be read: %s", strerror(errno));
}

static bool find_folder(const struct container_line *line, struct cgroup *ret)
{
        for (unsigned i = 0; i < mounts.count; i++) {
                struct stat st;

                if (!has_controller(&mounts.at[i], line) ||
                    text_put(ret->folder, sizeof(ret->folder), NULL, "%s%.*s", mounts.at[i].path,
                             (int)line->path_bytes, line->path) < 0 ||
                    stat(ret->folder, &st) < 0)
                        continue;
                ret->inode = (uint64_t)st.st_ino & INT64_MAX;
                return true;
        }
        return false;
}

static bool find_any(const struct container *container, struct cgroup *ret)
{
        for (unsigned i = 0; i < container->count; i++) {
                if (find_folder(&container->line[i], ret))
                        return true;
        }
        return false;
}

/* Whether the thread with this folder in /proc has given up its memory, as a thread that exits
 * does. The answer of the kernel needs no lock that a tenant can hold. */
static bool has_no_memory(const char *folder)
{
        char path[64], byte;

        snprintf(path, sizeof(path), "%s/exe", folder);
        return readlink(path, &byte, 1) < 0 && errno == ENOENT;
}

/* Finds the container of the thread with this folder in /proc. -ESTALE: the thread exits, so the
 * kernel does not say in which control groups it is. -ENOENT: there is no such thread. */
static int read_thread(const char *folder, struct container *ret, struct error *err)
{
        static char text[TEXT_BYTES];
        size_t used = 0;
        char path[64];
        int rc;

        snprintf(path, sizeof(path), "%s/cgroup", folder);
        rc = read_text(path, text, sizeof(text), &used, err);
        if (rc == 0 && container_may_exit(text, used) && has_no_memory(folder))
                return fail(err, -ESTALE, "its control groups are not known while it exits");
        return rc < 0 ? rc : container_read(text, used, ret, err);
}

static bool is_ended(int rc)
{
        return rc == -ESTALE || rc == -ENOENT;
}

/* Finds the container of a process by its first thread, or by another if that has exited: a tenant
 * whose runtime leaves out the hierarchy of version 2 can give its cgroup there any name, and of a
 * thread that exits the kernel shows no other cgroup. */
static int read_container(uint32_t pid, struct container *ret, struct error *err)
{
        scoped_dir DIR *threads = NULL;
        struct dirent *entry;
        unsigned left = THREADS_MAX;
        char path[48];
        int rc;

        snprintf(path, sizeof(path), "/proc/%u", pid);
        rc = read_thread(path, ret, err);
        if (rc != -ESTALE)
                return rc == -ENOENT ? -ESRCH : rc;
        snprintf(path, sizeof(path), "/proc/%u/task", pid);
        threads = opendir(path);
        while (is_ended(rc) && threads && left && (entry = readdir(threads))) {
                const uint32_t thread = (uint32_t)strtoul(entry->d_name, NULL, 10);

                if (!thread || thread == pid)
                        continue;
                left--;
                snprintf(path, sizeof(path), "/proc/%u/task/%u", pid, thread);
                rc = read_thread(path, ret, err);
        }
        return is_ended(rc) ? -EPROTO : rc;
}

int cgroup_find(uint32_t pid, struct cgroup *ret, struct error *err)
{
        struct container container = { 0 };
        struct cgroup found = { 0 };
        int rc = read_container(pid, &container, err);

        if (rc < 0)
                return rc;
        memcpy(found.container, container.id, sizeof(found.container));
        if (!find_any(&container, &found)) {
                read_mounts(); /* at the first call, and if a hierarchy was mounted since */
                if (!find_any(&container, &found))
                        return fail(err, -ENOENT,
                                    "the control group of its container cannot be seen from here");
        }
        *ret = found;
        return 0;
}

bool cgroup_is_in(uint32_t pid, const char *id)
{
        struct container container = { 0 };

        return id[0] && read_container(pid, &container, NULL) == 0 && strcmp(container.id, id) == 0;
}

/* -- Processes in a control group ------------------------------------------------------------- */

/* Reads whether a cgroup of version 2, including all cgroups below it, has processes. 1: yes, or
 * unknown. 0: none. -ENOENT: it is of version 1. */
static int read_events(int folder)
{
        scoped_fd int fd = openat(folder, "cgroup.events", O_RDONLY | O_CLOEXEC);
        char text[256];
        ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

        if (got < 0)
                return errno == ENOENT ? -ENOENT : 1;
        text[got] = '\0';
        return strstr(text, "populated 0\n") ? 0 : 1;
}

static bool has_process(int folder)
{
        scoped_fd int fd = openat(folder, "cgroup.procs", O_RDONLY | O_CLOEXEC);
        char byte;

        return fd >= 0 ? read(fd, &byte, 1) != 0 : errno != ENOENT;
}

/* Searches a cgroup of version 1 and all cgroups below it for a process. `left`: number of folders
 * that may still be opened. True also if that is not enough. */
static bool is_anybody_in(int folder, unsigned depth, unsigned *left)
{
        scoped_dir DIR *entries = NULL;
        struct dirent *entry;
        int again;

        if (has_process(folder) || depth == DEPTH_MAX || !*left)
                return true;
        --*left;
        again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        entries = again < 0 ? NULL : fdopendir(again);
        if (!entries)
                return again >= 0 ? close(again) == 0 : errno != ENOENT;
        while ((entry = readdir(entries))) {
                scoped_fd int below = -1;

                if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
                        continue;
                below = openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                if (below >= 0 && is_anybody_in(below, depth + 1, left))
                        return true;
        }
        return false;
}

int cgroup_is_populated(const char *path, uint64_t inode)
{
        scoped_fd int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        unsigned left = FOLDERS_MAX;
        struct stat st;
        int rc;

        if (folder < 0)
                return errno == ENOENT || errno == ENOTDIR ? 0 : 1;
        if (fstat(folder, &st) < 0 || ((uint64_t)st.st_ino & INT64_MAX) != inode)
                return 0;
        rc = read_events(folder);
        return rc != -ENOENT ? rc : is_anybody_in(folder, 0, &left);
}
