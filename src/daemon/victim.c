/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/victim.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/log.h"
#include "common/machine_clock.h"
#include "common/scoped.h"
#include "common/text.h"

#define DESCRIPTORS_MOST 16384u /* of all processes, in one walk: a user can open millions */

/* The real user, by the line "Uid:" of its status. */
static bool is_users(uint32_t pid, uint32_t uid)
{
        scoped_file FILE *status = NULL;
        char path[64], line[256];
        unsigned real;

        snprintf(path, sizeof(path), "/proc/%u/status", pid);
        status = fopen(path, "re");
        while (status && fgets(line, sizeof(line), status)) {
                if (sscanf(line, "Uid: %u", &real) == 1)
                        return real == uid;
        }
        return false;
}

static struct identity_file file_of(const struct liveness_file *slots)
{
        return (struct identity_file){ slots->device, slots->inode };
}

static bool has_mapped(uint32_t pid, const struct liveness_file *slots)
{
        const struct identity_file file = file_of(slots);

        return identity_has_mapped(pid, &file);
}

static bool holds_slot(const struct usage_process *process, const struct liveness_file *slots)
{
        int fd = liveness_open(slots);
        bool is_held;

        if (fd < 0)
                return false;
        is_held = liveness_probe(fd, PAGE_LOCK_LIVE(process->slot)) == 1;
        liveness_close(fd);
        return is_held;
}

static int hold(uint32_t pid)
{
        return pid < 2 || pid == (uint32_t)getpid() ? -1 : identity_hold(pid);
}

static bool signal_told(const struct usage_process *process, const struct victim_order *order)
{
        uint32_t pid = process->local_pid;
        scoped_fd int held = hold(pid);

        if (held < 0)
                return false;
        /* From here on the pid is nobody else's unless the descriptor's process is gone. */
        if (!usage_is_process(process, pid) || !is_users(pid, order->owner_uid) ||
            !has_mapped(pid, order->slots) || !holds_slot(process, order->slots)) {
                log_line(LOG_WARN, "pid %u (%s) is not what its slot says: no signal", pid,
                         text_shown(process->command));
                return false;
        }
        return identity_signal(held, pid, order->number);
}

/* Whether one before it says the same. */
static bool is_repeated(const struct usage_process *list, unsigned at)
{
        for (unsigned i = 0; i < at; i++) {
                if (list[i].local_pid == list[at].local_pid && list[i].pid == list[at].pid &&
                    list[i].start_ticks == list[at].start_ticks)
                        return true;
        }
        return false;
}

unsigned victim_signal_told(struct usage_process *list, unsigned count,
                            const struct victim_order *order)
{
        const uint64_t began_ns = clock_thread_ns();
        unsigned sent = 0;

        usage_name(list, count, order->most_ns / 2);
        for (unsigned i = 0; i < count && clock_thread_ns() - began_ns < order->most_ns; i++) {
                if (list[i].local_pid && !is_repeated(list, i))
                        sent += signal_told(&list[i], order);
        }
        return sent;
}

/* A line of fdinfo: its number, kind, mode, type, pid, then device and inode in one word. */
static bool is_lock_on(const char *line, const struct identity_file *file)
{
        unsigned major_number, minor_number;
        uint64_t inode;

        return sscanf(line, "lock: %*s %*s %*s %*s %*s %x:%x:%" SCNu64, &major_number,
                      &minor_number, &inode) == 3 &&
               inode == file->inode && makedev(major_number, minor_number) == file->device;
}

/* Of a descriptor all locks are on one file, so the first line tells. Nothing here asks a file
 * system, which could make us wait. */
static bool is_descriptor_locking(uint32_t pid, const char *number,
                                  const struct identity_file *file)
{
        scoped_file FILE *info = NULL;
        char path[64], line[256];

        snprintf(path, sizeof(path), "/proc/%u/fdinfo/%.16s", pid, number);
        info = fopen(path, "re");
        while (info && fgets(line, sizeof(line), info)) {
                if (strncmp(line, "lock:", 5) == 0)
                        return is_lock_on(line, file);
        }
        return false;
}

/* `left`: how many descriptors may be looked at yet. */
static bool has_locked(uint32_t pid, const struct liveness_file *slots, unsigned *left)
{
        const struct identity_file file = file_of(slots);
        scoped_dir DIR *descriptors = NULL;
        struct dirent *entry;
        char path[64];

        snprintf(path, sizeof(path), "/proc/%u/fdinfo", pid);
        descriptors = opendir(path);
        while (descriptors && *left && (entry = readdir(descriptors))) {
                (*left)--;
                if (is_descriptor_locking(pid, entry->d_name, &file))
                        return true;
        }
        return false;
}

/* The next entry of a walk that begins anywhere and goes round once. A place in /proc goes by the
 * pid, so it means the same to every stream of it. */
static struct dirent *next_around(DIR *proc, long from, bool *is_round)
{
        struct dirent *entry = readdir(proc);

        if (!entry && !*is_round) {
                *is_round = true;
                rewinddir(proc);
                entry = readdir(proc);
        }
        return *is_round && telldir(proc) > from ? NULL : entry;
}

unsigned victim_signal_all(const struct victim_order *order)
{
        static long from;
        const uint64_t began_ns = clock_thread_ns();
        const long begin = from;
        scoped_dir DIR *proc = opendir("/proc");
        unsigned left = DESCRIPTORS_MOST, sent = 0;
        bool is_round = false;
        struct dirent *entry;

        if (proc)
                seekdir(proc, begin);
        while (proc && (entry = next_around(proc, begin, &is_round))) {
                uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
                scoped_fd int held = hold(pid);

                if (held >= 0 && is_users(pid, order->owner_uid) &&
                    (has_mapped(pid, order->slots) || has_locked(pid, order->slots, &left)))
                        sent += identity_signal(held, pid, order->number);
                from = telldir(proc);
                if (clock_thread_ns() - began_ns >= order->most_ns)
                        break;
        }
        return sent;
}

bool victim_signal_identity(const struct identity *identity, int number)
{
        scoped_fd int held = hold(identity->pid);

        /* The start is read when the pid can be nobody else's any more. */
        return held >= 0 && identity_is_same(identity) &&
               identity_signal(held, identity->pid, number);
}
