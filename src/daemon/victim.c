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
#include "common/scoped.h"
#include "common/text.h"

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

/* A line of maps: range, permissions, offset, device, inode, path. */
static bool is_line_of(const char *line, const struct liveness_file *slots)
{
        unsigned major_number, minor_number;
        uint64_t inode;

        return sscanf(line, "%*s %*s %*s %x:%x %" SCNu64, &major_number, &minor_number, &inode) ==
                       3 &&
               inode == slots->inode && makedev(major_number, minor_number) == slots->device;
}

static bool has_mapped(uint32_t pid, const struct liveness_file *slots)
{
        scoped_file FILE *maps = NULL;
        scoped_free char *line = NULL;
        size_t room = 0;
        char path[64];

        snprintf(path, sizeof(path), "/proc/%u/maps", pid);
        maps = fopen(path, "re");
        while (maps && getline(&line, &room, maps) > 0) {
                if (is_line_of(line, slots))
                        return true;
        }
        return false;
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

bool victim_signal(const struct usage_process *process, const struct liveness_file *slots,
                   uint32_t owner_uid, int number)
{
        uint32_t pid = usage_local_pid(process);
        scoped_fd int held = hold(pid);

        if (held < 0)
                return false;
        /* From here on the pid is nobody else's unless the descriptor's process is gone. */
        if (!usage_is_process(process, pid) || !is_users(pid, owner_uid) ||
            !has_mapped(pid, slots) || !holds_slot(process, slots)) {
                log_line(LOG_WARN, "pid %u (%s) is not what its slot says: no signal", pid,
                         text_shown(process->command));
                return false;
        }
        return identity_signal(held, pid, number);
}

unsigned victim_signal_all(const struct liveness_file *slots, uint32_t owner_uid, int number)
{
        scoped_dir DIR *proc = opendir("/proc");
        struct dirent *entry;
        unsigned sent = 0;

        while (proc && (entry = readdir(proc))) {
                uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
                scoped_fd int held = hold(pid);

                if (held >= 0 && is_users(pid, owner_uid) && has_mapped(pid, slots))
                        sent += identity_signal(held, pid, number);
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
