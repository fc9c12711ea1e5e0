/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/processes/victim.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/machine_clock.h"
#include "common/scoped.h"
#include "daemon/base/cgroup.h"

/* Whether the process is in a user namespace that the user made. A user may end every process
 * there, under all user ids mapped there (subordinate ids). The first namespace belongs to root, so
 * root's processes are not matched this way. */
static bool is_in_users_namespace(uint32_t pid, uint32_t uid)
{
        int name_space;
        char path[64];
        bool is = false;
        uid_t owner;

        if (uid == 0)
                return false;
        snprintf(path, sizeof(path), "/proc/%u/ns/user", pid);
        name_space = open(path, O_RDONLY | O_CLOEXEC);
        while (name_space >= 0 && !is) {
                int parent;

                is = ioctl(name_space, NS_GET_OWNER_UID, &owner) == 0 && owner == uid;
                parent = ioctl(name_space, NS_GET_PARENT);
                close(name_space);
                name_space = parent;
        }
        if (name_space >= 0)
                close(name_space);
        return is;
}

/* Whether the process is another search that the daemon has forked, which maps the same files. The
 * user id is checked as well, because orphans of other users are children of the daemon if it is
 * PID 1. */
static bool is_search(uint32_t parent, uint32_t real, const struct victim_order *order)
{
        return parent == order->walk->spared && real == getuid();
}

static bool is_containers(const struct victim_order *order)
{
        return order->container && order->container[0];
}

/* Whether the process belongs to the session's owner. In a container's session: whether it is in
 * the container, under any user id. The owner is root then, and root's processes elsewhere may have
 * been handed a descriptor of `slots`. Reads the lines "PPid:" and "Uid:" (the real user id) of its
 * status. */
static bool is_users(uint32_t pid, const struct victim_order *order)
{
        scoped_file FILE *status = NULL;
        char path[64], line[256];
        unsigned parent = 0, real;

        snprintf(path, sizeof(path), "/proc/%u/status", pid);
        status = fopen(path, "re");
        while (status && fgets(line, sizeof(line), status)) {
                if (sscanf(line, "PPid: %u", &parent) == 1 || sscanf(line, "Uid: %u", &real) != 1)
                        continue;
                if (is_search(parent, real, order))
                        return false;
                return is_containers(order) ? cgroup_is_in(pid, order->container)
                                            : real == order->owner_uid ||
                                                      is_in_users_namespace(pid, order->owner_uid);
        }
        return false;
}

static struct identity_file file_of(const struct liveness_file *slots)
{
        return (struct identity_file){ slots->device, slots->inode };
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

static int hold_process(uint32_t pid)
{
        return pid < 2 || pid == (uint32_t)getpid() ? -EPERM : identity_hold(pid);
}

/* Opens the next process to examine. -ECANCELED: the process is the daemon or must be skipped. */
static int hold_next(uint32_t pid, struct victim_walk *walk)
{
        for (unsigned i = 0; i < VICTIM_PASSED; i++) {
                if (pid == walk->passed[i])
                        return -ECANCELED;
        }
        store_relaxed(&walk->at, pid);
        add_relaxed(&walk->steps, 1);
        return pid == walk->spared ? -ECANCELED : hold_process(pid);
}

static bool send_to(int held, uint32_t pid, const struct victim_order *order)
{
        bool is_sent = identity_signal(held, pid, order->number);

        add_relaxed(&order->walk->sent, is_sent);
        return is_sent;
}

static bool signal_told(const struct usage_process *process, const struct victim_order *order,
                        uint64_t until_ns)
{
        const struct identity_file file = file_of(order->slots);
        uint32_t pid = process->local_pid;
        scoped_fd int held = hold_next(pid, order->walk);

        if (held < 0)
                return false;
        /* from here on, if the held process still lives, the pid belongs to it */
        if (!usage_is_process(process, pid) || !is_users(pid, order) ||
            identity_has_mapped(pid, &file, until_ns) != 1 || !holds_slot(process, order->slots)) {
                add_relaxed(&order->walk->false_slots, 1);
                return false;
        }
        return send_to(held, pid, order);
}

/* Whether an earlier entry of the list is the same process. */
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
        const uint64_t until_ns = clock_thread_ns() + order->max_ns;
        unsigned sent = 0;

        usage_name(list, count, order->max_ns / 2);
        for (unsigned i = 0; i < count && clock_thread_ns() < until_ns; i++) {
                if (list[i].local_pid && !is_repeated(list, i))
                        sent += signal_told(&list[i], order, until_ns);
        }
        return sent;
}

/* A search for processes that hold a file. It ends when the processor time of this thread reaches
 * `until_ns`. */
struct victim_look {
        struct identity_file file;
        uint64_t until_ns;
};

/* The descriptor table of one thread: threads of a process can have tables of their own. */
struct thread_table {
        pid_t pid, tid;
};

static bool has_deadline_passed(const struct victim_look *look)
{
        return clock_thread_ns() >= look->until_ns;
}

/* Whether the descriptor is open on the file. Reads only the kernel's inode, so that no file system
 * can block the search. fdinfo is not read at first, because that can take seconds: for an epoll
 * descriptor it lists everything that the epoll watches. */
static bool is_of_file(const struct thread_table *table, const char *number,
                       const struct identity_file *file)
{
        struct statx st;
        char path[96];

        snprintf(path, sizeof(path), "/proc/%d/task/%d/fd/%.16s", table->pid, table->tid, number);
        return statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_INO, &st) == 0 &&
               st.stx_ino == file->inode &&
               makedev(st.stx_dev_major, st.stx_dev_minor) == file->device;
}

/* Whether the descriptor has a lock. The descriptor is on the right file, and so are its locks. */
static bool is_locking(const struct thread_table *table, const char *number)
{
        scoped_file FILE *info = NULL;
        char path[96], line[256];

        snprintf(path, sizeof(path), "/proc/%d/task/%d/fdinfo/%.16s", table->pid, table->tid,
                 number);
        info = fopen(path, "re");
        while (info && fgets(line, sizeof(line), info)) {
                if (strncmp(line, "lock:", 5) == 0)
                        return true;
        }
        return false;
}

static bool has_locked_by(const struct thread_table *table, const struct victim_look *look)
{
        scoped_dir DIR *descriptors = NULL;
        struct dirent *entry;
        char path[64];

        snprintf(path, sizeof(path), "/proc/%d/task/%d/fd", table->pid, table->tid);
        descriptors = opendir(path);
        while (descriptors && !has_deadline_passed(look) && (entry = readdir(descriptors))) {
                if (is_of_file(table, entry->d_name, &look->file) &&
                    is_locking(table, entry->d_name))
                        return true;
        }
        return false;
}

/* Whether two threads have the same descriptor table. False if the kernel cannot compare them (no
 * CONFIG_KCMP): then each thread's table is examined. */
static bool is_same_table(pid_t a, pid_t b)
{
        return syscall(SYS_kcmp, a, b, KCMP_FILES, 0, 0) == 0;
}

static bool has_locked(pid_t pid, const struct victim_look *look)
{
        scoped_dir DIR *tasks = NULL;
        struct dirent *entry;
        pid_t last = 0;
        char path[64];

        snprintf(path, sizeof(path), "/proc/%d/task", pid);
        tasks = opendir(path);
        while (tasks && !has_deadline_passed(look) && (entry = readdir(tasks))) {
                const struct thread_table table = { pid, (pid_t)strtol(entry->d_name, NULL, 10) };

                if (table.tid < 1 || (last && is_same_table(last, table.tid)))
                        continue;
                if (has_locked_by(&table, look))
                        return true;
                last = table.tid;
        }
        return false;
}

/* Returns the next entry of /proc, in a search that begins at offset `from` and continues at the
 * beginning. NULL: all were returned. Offsets in /proc depend only on the pid, so they are valid
 * for every stream. */
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

/* If the time ends while a process is examined, the next search begins with it, so that the process
 * gets the whole time. */
unsigned victim_signal_all(const struct victim_order *order)
{
        const struct victim_look look = { file_of(order->slots),
                                          clock_thread_ns() + order->max_ns };
        const long begin = load_relaxed(&order->walk->from);
        scoped_dir DIR *proc = opendir("/proc");
        bool is_round = false, is_first = true;
        struct dirent *entry;
        unsigned sent = 0;

        if (proc)
                seekdir(proc, begin);
        while (proc && (entry = next_around(proc, begin, &is_round))) {
                uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
                scoped_fd int held = hold_next(pid, order->walk);
                bool is_users_own = held >= 0 && is_users(pid, order);
                const long before = load_relaxed(&order->walk->from);

                store_relaxed(&order->walk->from, telldir(proc));

                if (is_users_own && (identity_has_mapped(pid, &look.file, look.until_ns) == 1 ||
                                     has_locked((pid_t)pid, &look)))
                        sent += send_to(held, pid, order);
                if (has_deadline_passed(&look) && is_users_own && !is_first) {
                        store_relaxed(&order->walk->from, before);
                        break;
                }
                is_first = is_first && !is_users_own;
                if (has_deadline_passed(&look))
                        break;
        }
        return sent;
}

bool victim_signal_identity(const struct identity *identity, int number)
{
        scoped_fd int held = hold_process(identity->pid);

        return held >= 0 && identity_is_same(held, identity) &&
               identity_signal(held, identity->pid, number);
}
