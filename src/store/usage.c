/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See usage.h. A process is found across PID namespaces by what does not depend on them: the
 * time it started, and its innermost pid as /proc shows it to an ancestor (NSpid).
 */
#include "store/usage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/scoped.h"

#define PROBES 64u /* of locks, between two looks at the time */

/* A small file of /proc, whole and terminated. */
static bool read_small(const char *path, char *ret, size_t size)
{
        scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t got;

        if (fd < 0)
                return false;
        got = read(fd, ret, size - 1);
        if (got <= 0)
                return false;
        ret[got] = '\0';
        return true;
}

/* Field 22 of a stat file; the command in field 2 may hold spaces and brackets. */
static uint64_t start_of(const char *stat_path)
{
        char text[1024];
        char *field;

        if (!read_small(stat_path, text, sizeof(text)))
                return 0;
        field = strrchr(text, ')');
        for (int i = 0; field && i < 20; i++)
                field = strchr(field + 1, ' ');
        return field ? strtoull(field, NULL, 10) : 0;
}

uint64_t usage_start_ticks(uint32_t pid)
{
        char path[64];

        snprintf(path, sizeof(path), "/proc/%u/stat", pid);
        return start_of(path);
}

static uint64_t own_namespace(void)
{
        struct stat st;

        return stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

static void copy_printable(char *to, const char *from, size_t size)
{
        size_t i = 0;

        for (; i + 1 < size && from[i] != '\0' && from[i] != '\n'; i++)
                to[i] = from[i] >= ' ' && from[i] <= '~' ? from[i] : '?';
        memset(to + i, 0, size - i);
}

/* Lines such as 0::/user.slice, or of version 1 4:memory:/docker/7f3e: the path stands last. */
void usage_cgroup(uint32_t pid, char ret[USAGE_CGROUP_BYTES])
{
        char path[64], text[4096];
        const char *line, *group;

        memset(ret, 0, USAGE_CGROUP_BYTES);
        snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
        if (!read_small(path, text, sizeof(text)))
                return;
        line = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::/");
        line = line ? line + (*line == '\n') : text;
        group = strchr(line, ':');
        group = group ? strchr(group + 1, ':') : NULL;
        if (group)
                copy_printable(ret, group + 1, USAGE_CGROUP_BYTES);
}

void usage_describe_self(struct page_slot *slot)
{
        int saved = errno;
        char command[64] = "";

        read_small("/proc/self/comm", command, sizeof(command));
        copy_printable(slot->command, command, sizeof(slot->command));
        slot->pid_ns_inode = own_namespace();
        slot->start_ticks = start_of("/proc/self/stat");
        slot->uid = getuid();
        store_release(shared_half(&slot->pid), (uint32_t)getpid());
        errno = saved;
}

static void fill(struct usage_process *ret, const struct slots_page *slots, uint32_t slot)
{
        const struct page_slot *said = &slots->slot[slot];
        char command[sizeof(said->command) + 1] = "";

        memcpy(command, said->command, sizeof(said->command));
        *ret = (struct usage_process){ .slot = slot,
                                       .pid = load_acquire(shared_half(&said->pid)),
                                       .uid = said->uid,
                                       .pid_ns_inode = said->pid_ns_inode,
                                       .start_ticks = said->start_ticks };
        copy_printable(ret->command, command, sizeof(ret->command));
        for (unsigned i = 0; i < PAGE_DEVICES; i++)
                ret->bytes[i] = page_row_bytes(slots, slot, i);
}

/* Of the processor: that others have it meanwhile is nobody's fault. */
static uint64_t own_time_ns(void)
{
        struct timespec now = { 0 };

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

int usage_list(const struct slots_page *slots, const struct liveness_file *file,
               struct usage_process *ret, size_t max)
{
        uint32_t high = load_acquire(shared_half(&slots->slots_high));
        int fd = liveness_open(file);
        uint64_t began_ns;
        int count = 0;

        if (fd < 0)
                return fd;
        high = high < PAGE_SLOTS ? high : PAGE_SLOTS;
        began_ns = own_time_ns();
        for (uint32_t slot = 0; slot < high; slot++) {
                if (slot % PROBES == 0 && own_time_ns() - began_ns > USAGE_MOST_NS) {
                        liveness_close(fd);
                        return -EOVERFLOW;
                }
                if (liveness_probe(fd, PAGE_LOCK_LIVE(slot)) != 1)
                        continue;
                if ((size_t)count < max)
                        fill(&ret[count], slots, slot);
                count++;
        }
        liveness_close(fd);
        return count;
}

/* The last number of the NSpid line: the pid in the process's own namespace. */
static uint32_t innermost_pid(const char *status_path)
{
        char text[4096];
        char *line;
        uint32_t pid = 0;

        if (!read_small(status_path, text, sizeof(text)))
                return 0;
        line = strstr(text, "\nNSpid:");
        if (!line)
                return 0;
        line += strlen("\nNSpid:");
        while (*line == '\t') {
                char *end;

                pid = (uint32_t)strtoul(line + 1, &end, 10);
                line = end;
        }
        return pid;
}

static bool is_the_process(const struct usage_process *process, const char *pid)
{
        char path[64];

        /* What cannot be read is 0 too. */
        if (!process->pid || !process->start_ticks)
                return false;
        snprintf(path, sizeof(path), "/proc/%.16s/stat", pid);
        if (start_of(path) != process->start_ticks)
                return false;
        snprintf(path, sizeof(path), "/proc/%.16s/status", pid);
        return innermost_pid(path) == process->pid;
}

bool usage_is_process(const struct usage_process *process, uint32_t pid)
{
        char name[16];

        snprintf(name, sizeof(name), "%u", pid);
        return is_the_process(process, name);
}

uint32_t usage_local_pid(const struct usage_process *process)
{
        scoped_dir DIR *proc = NULL;
        struct dirent *entry;

        if (process->pid_ns_inode == own_namespace())
                return process->pid;
        proc = opendir("/proc");
        while (proc && (entry = readdir(proc)))
                if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
                    is_the_process(process, entry->d_name))
                        return (uint32_t)strtoul(entry->d_name, NULL, 10);
        return 0;
}
