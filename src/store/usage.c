/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the processes of a session; usage.h has the contract. A process in another PID namespace is
 * identified by its start time and by its innermost pid, which /proc shows to an ancestor namespace
 * (NSpid).
 */
#include "store/usage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/machine_clock.h"
#include "common/minmax.h"
#include "common/scoped.h"

/* Reads a small file of /proc as a whole, and terminates it. */
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

/* Returns field 22 of a stat file, the start time. The command in field 2 may contain spaces and
 * brackets. */
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

/* The path comes last in a line, for example 0::/user.slice or, in version 1,
 * 4:memory:/docker/7f3e. */
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
        store_relaxed(shared_half(&slot->drained_gate), 0);
        store_relaxed(shared_half(&slot->measured_devices), 0);
        store_release(shared_half(&slot->pid), (uint32_t)getpid());
        errno = saved;
}

static void fill_process(struct usage_process *ret, const struct slots_page *slots, uint32_t slot)
{
        const struct page_slot *said = &slots->slot[slot];
        char command[sizeof(said->command) + 1] = "";

        memcpy(command, said->command, sizeof(said->command));
        *ret = (struct usage_process){ .slot = slot,
                                       .pid = load_acquire(shared_half(&said->pid)),
                                       .uid = said->uid,
                                       .pid_ns_inode = said->pid_ns_inode,
                                       .start_ticks = said->start_ticks,
                                       .measured_devices =
                                               load_relaxed(shared_half(&said->measured_devices)) };
        copy_printable(ret->command, command, sizeof(ret->command));
        for (unsigned i = 0; i < PAGE_DEVICES; i++)
                ret->bytes[i] = page_row_bytes(slots, slot, i);
}

#define LIVE_BYTES PAGE_LOCK_LIVE(PAGE_SLOTS)

static bool is_set(const uint64_t *bits, uint64_t at)
{
        return bits[at / 64] >> at % 64 & 1;
}

/* Returns the first set bit from `at` on, or `end`. */
static uint64_t next_set(const uint64_t *bits, uint64_t at, uint64_t end)
{
        while (at < end) {
                uint64_t word = bits[at / 64] >> at % 64;

                if (word) {
                        at += (uint64_t)__builtin_ctzll(word);
                        break;
                }
                at = (at / 64 + 1) * 64;
        }
        return min_u64(at, end);
}

/* Sets a bit for each locked byte below `end`. Each call to the kernel finds a lock that was not
 * known yet, or shows that a gap has none. So the number of calls depends on the locks, and not
 * on slots_high, which any writer can forge. Each call searches the locks before the one that it
 * finds, so the time is checked after each call. */
static int find_held(int fd, uint64_t end, uint64_t max_ns, uint64_t ret[LIVE_BYTES / 64])
{
        const uint64_t began_ns = clock_thread_ns();
        uint64_t at = 0;

        while (at < end) {
                struct liveness_range range = { .first = at };
                int rc;

                if (is_set(ret, at)) {
                        at++;
                        continue;
                }
                range.count = next_set(ret, at, end) - at;
                rc = liveness_find(fd, &range);
                if (rc < 0)
                        return rc;
                if (rc == 0)
                        at += range.count;
                for (uint64_t i = 0; rc == 1 && i < range.count; i++)
                        ret[(range.first + i) / 64] |= UINT64_C(1) << (range.first + i) % 64;
                if (at < end && clock_thread_ns() - began_ns > max_ns)
                        return -EOVERFLOW;
        }
        return 0;
}

int usage_list(const struct slots_page *slots, const struct liveness_file *file,
               struct usage_process *ret, size_t max)
{
        const struct usage_look look = { file, USAGE_MAX_NS };

        return usage_list_within(slots, &look, ret, max);
}

int usage_list_within(const struct slots_page *slots, const struct usage_look *look,
                      struct usage_process *ret, size_t max)
{
        uint32_t high = load_acquire(shared_half(&slots->slots_high));
        uint64_t held[LIVE_BYTES / 64] = { 0 };
        int fd = liveness_open(look->file);
        int count = 0;
        int rc;

        if (fd < 0)
                return fd;
        high = min_u32(high, PAGE_SLOTS);
        rc = find_held(fd, PAGE_LOCK_LIVE(high), look->max_ns, held);
        liveness_close(fd);
        for (uint32_t slot = 0; rc == 0 && slot < high; slot++) {
                if (!is_set(held, PAGE_LOCK_LIVE(slot)))
                        continue;
                if ((size_t)count < max)
                        fill_process(&ret[count], slots, slot);
                count++;
        }
        return rc < 0 ? rc : count;
}

/* Returns the last number of the NSpid line: the pid in the process's own namespace. */
static uint32_t innermost_pid(const char *pid)
{
        char path[64], text[4096];
        char *line;
        uint32_t inner = 0;

        snprintf(path, sizeof(path), "/proc/%.16s/status", pid);
        if (!read_small(path, text, sizeof(text)))
                return 0;
        line = strstr(text, "\nNSpid:");
        if (!line)
                return 0;
        line += strlen("\nNSpid:");
        while (*line == '\t') {
                char *end;

                inner = (uint32_t)strtoul(line + 1, &end, 10);
                line = end;
        }
        return inner;
}

static uint64_t start_ticks_of(const char *pid)
{
        char path[64];

        snprintf(path, sizeof(path), "/proc/%.16s/stat", pid);
        return start_of(path);
}

bool usage_is_process(const struct usage_process *process, uint32_t pid)
{
        char name[16];

        /* values that cannot be read are 0 too */
        if (!process->pid || !process->start_ticks)
                return false;
        snprintf(name, sizeof(name), "%u", pid);
        return innermost_pid(name) == process->pid && start_ticks_of(name) == process->start_ticks;
}

/* Sets the local pid of the entries that are this process. Returns how many: more than one if
 * slots are forged. Reads the stat file only if the innermost pid matches: reading a stat file
 * can block (common/aside.h), reading the status file cannot. */
static size_t name_as(const char *pid, struct usage_process *list, size_t count)
{
        const uint32_t inner_pid = innermost_pid(pid);
        uint64_t start_ticks = 0;
        size_t named = 0;

        for (size_t i = 0; inner_pid && i < count; i++) {
                if (list[i].local_pid || list[i].pid != inner_pid || !list[i].start_ticks)
                        continue;
                start_ticks = start_ticks ? start_ticks : start_ticks_of(pid);
                if (list[i].start_ticks != start_ticks)
                        continue;
                list[i].local_pid = (uint32_t)strtoul(pid, NULL, 10);
                named++;
        }
        return named;
}

void usage_name(struct usage_process *list, size_t count, uint64_t max_ns)
{
        uint64_t own = own_namespace(), began_ns = clock_thread_ns();
        scoped_dir DIR *proc = NULL;
        struct dirent *entry;
        size_t left = 0;

        for (size_t i = 0; i < count; i++) {
                list[i].local_pid = list[i].pid_ns_inode == own ? list[i].pid : 0;
                left += list[i].local_pid == 0 && list[i].pid && list[i].start_ticks;
        }
        proc = left && max_ns ? opendir("/proc") : NULL;
        while (left && proc && (entry = readdir(proc))) {
                if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
                        continue;
                left -= name_as(entry->d_name, list, count);
                if (clock_thread_ns() - began_ns >= max_ns)
                        return;
        }
}
