/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/processes/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/machine_clock.h"
#include "common/pidfd.h"
#include "common/scoped.h"

#define HOST_PID_NS UINT64_C(0xeffffffc) /* PROC_PID_INIT_INO, include/linux/proc_ns.h */
#define PIDFD_FILES 0x50494446L          /* PID_FS_MAGIC, linux/magic.h of Linux 6.9 */
#define FLAG_EXITING 0x4u                /* PF_EXITING, include/linux/sched.h */
#define TICK_NS(per_second) (UINT64_C(1000000000) / (uint64_t)(per_second))

/* -- Holding a process ------------------------------------------------------------------------ */

static bool is_missing(int code)
{
        return code == ENOSYS || code == EPERM;
}

int identity_hold(uint32_t pid)
{
        char path[32];
        int fd;

        if (!pid || pid > INT32_MAX)
                return -EINVAL;
        fd = (int)syscall(SYS_pidfd_open, pid, 0);
        if (fd < 0 && is_missing(errno)) {
                snprintf(path, sizeof(path), "/proc/%u", pid);
                fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        }
        return fd < 0 ? -errno : fd;
}

bool identity_is_pidfd(int held)
{
        struct stat st;

        return fstat(held, &st) == 0 && !S_ISDIR(st.st_mode);
}

/* Whether the process of the /proc folder lives; a zombie counts as ended. */
static bool has_stat(int folder)
{
        scoped_fd int fd = openat(folder, "stat", O_RDONLY | O_CLOEXEC);
        char text[512];
        ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
        const char *state;

        if (length <= 0)
                return false;
        text[length] = '\0';
        state = strrchr(text, ')');
        return state && strncmp(state, ") Z", 3) != 0 && strncmp(state, ") X", 3) != 0;
}

/* Polls the pidfd, which becomes readable when its process ends and remains so. */
bool identity_is_there(int held)
{
        struct pollfd poll_it = { .fd = held, .events = POLLIN };

        return identity_is_pidfd(held) ? poll(&poll_it, 1, 0) == 0 : has_stat(held);
}

/* Returns the inode of a pidfd; 0: unknown. Before Linux 6.9 all pidfds have the same inode, which
 * is of another file system. */
static uint64_t inode_of(int held)
{
        struct statfs files;
        struct stat st;

        return fstatfs(held, &files) == 0 && files.f_type == PIDFD_FILES && fstat(held, &st) == 0
                       ? (uint64_t)st.st_ino
                       : 0;
}

bool identity_signal(int held, uint32_t pid, int number)
{
        if (syscall(SYS_pidfd_send_signal, held, number, NULL, 0) == 0)
                return true;
        return is_missing(errno) && identity_is_there(held) && kill((pid_t)pid, number) == 0;
}

/* -- Reading ---------------------------------------------------------------------------------- */

static FILE *open_of(uint32_t pid, const char *name)
{
        char path[96];

        snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
        return fopen(path, "re");
}

/* Returns field `number` (4 or higher) of a stat file. The command in field 2 may contain spaces
 * and brackets. 0: there is no such process. */
static uint64_t read_field(uint32_t pid, const char *name, int number)
{
        scoped_file FILE *file = open_of(pid, name);
        char text[1024];
        size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
        char *field;

        text[length] = '\0';
        field = strrchr(text, ')');
        for (int i = 2; field && i < number; i++)
                field = strchr(field + 1, ' ');
        return field ? strtoull(field, NULL, 10) : 0;
}

static uint64_t read_start(uint32_t pid)
{
        return read_field(pid, "stat", 22);
}

/* Whether all threads exit. The first thread may have ended long before the others. */
static bool is_exiting(uint32_t pid)
{
        scoped_dir DIR *tasks = NULL;
        struct dirent *entry;
        char path[64];

        if (!(read_field(pid, "stat", 9) & FLAG_EXITING))
                return false;
        snprintf(path, sizeof(path), "/proc/%u/task", pid);
        tasks = opendir(path);
        while (tasks && (entry = readdir(tasks))) {
                snprintf(path, sizeof(path), "task/%.16s/stat", entry->d_name);
                if (entry->d_name[0] != '.' && !(read_field(pid, path, 9) & FLAG_EXITING))
                        return false;
        }
        return true;
}

static void take_name(const char *value, char ret[16])
{
        size_t i = 0;

        for (; i + 1 < 16 && value[i] && value[i] != '\n'; i++)
                ret[i] = value[i] >= ' ' && value[i] <= '~' ? value[i] : '?';
        memset(ret + i, 0, 16 - i);
}

static bool read_status(uint32_t pid, struct identity *ret)
{
        scoped_file FILE *file = open_of(pid, "status");
        char line[512];
        const char *last;
        bool has_uid = false;

        while (file && fgets(line, sizeof(line), file)) {
                if (strncmp(line, "Name:\t", 6) == 0)
                        take_name(line + 6, ret->command);
                else if (sscanf(line, "Uid: %u", &ret->uid) == 1)
                        has_uid = true;
                else if (strncmp(line, "NSpid:", 6) == 0 && (last = strrchr(line, '\t')))
                        ret->inner_pid = (uint32_t)strtoul(last + 1, NULL, 10);
        }
        return has_uid;
}

bool identity_user(uint32_t pid, uint32_t *ret)
{
        struct identity identity;

        if (!read_status(pid, &identity))
                return false;
        *ret = identity.uid;
        return true;
}

static void read_cgroup(uint32_t pid, struct identity *ret)
{
        scoped_file FILE *file = open_of(pid, "cgroup");
        scoped_free char *line = NULL;
        size_t room = 0;

        while (file && getline(&line, &room, file) > 0) {
                line[strcspn(line, "\n")] = '\0';
                if (strncmp(line, "0::", 3) == 0)
                        snprintf(ret->cgroup, sizeof(ret->cgroup), "%s", line + 3);
        }
        /* The kernel does not show a path of PATH_MAX or more characters, and the read fails. */
        ret->is_cgroup_hidden = file ? ferror(file) != 0 : errno != ENOENT;
}

/* Reads the file of a line of maps: range, permissions, offset, device, inode, path. */
static bool read_file(const char *line, struct identity_file *ret)
{
        unsigned major_number, minor_number;

        if (sscanf(line, "%*s %*s %*s %x:%x %" SCNu64, &major_number, &minor_number, &ret->inode) !=
            3)
                return false;
        ret->device = makedev(major_number, minor_number);
        return true;
}

/* One reading of a process's mappings that may be cut short. A line can be as long as a page, and a
 * process can have more than 65,000 mappings. */
struct maps_look {
        bool (*each)(char *line, void *context); /* gets each line of maps; true: stop reading */
        void *context;
        uint64_t until_ns; /* clock_thread_ns(); UINT64_MAX: no bound */
        bool is_cut;
};

static bool is_cut(struct maps_look *look)
{
        look->is_cut = look->is_cut ||
                       (look->until_ns != UINT64_MAX && clock_thread_ns() >= look->until_ns);
        return look->is_cut;
}

static void read_maps(FILE *file, struct maps_look *look)
{
        scoped_free char *line = NULL;
        size_t room = 0;

        while (file && !is_cut(look) && getline(&line, &room, file) > 0) {
                if (look->each(line, look->context))
                        break;
        }
}

static FILE *open_if_any(uint32_t pid, const char *name)
{
        FILE *file = open_of(pid, name);
        int first = file ? getc(file) : EOF;

        if (first != EOF && ungetc(first, file) != EOF)
                return file;
        if (file)
                fclose(file);
        return NULL;
}

/* Opens the mappings of the process. If the first thread has ended, /proc/PID/maps is empty, but
 * the file of another thread is not. */
static FILE *open_maps(uint32_t pid)
{
        FILE *file = open_if_any(pid, "maps");
        scoped_dir DIR *tasks = NULL;
        struct dirent *entry;
        char path[64];

        snprintf(path, sizeof(path), "/proc/%u/task", pid);
        tasks = file ? NULL : opendir(path);
        while (tasks && !file && (entry = readdir(tasks))) {
                snprintf(path, sizeof(path), "task/%.16s/maps", entry->d_name);
                file = open_if_any(pid, path);
        }
        return file;
}

int identity_compare(const void *a, const void *b)
{
        const struct identity_file *left = a, *right = b;

        if (left->inode != right->inode)
                return left->inode < right->inode ? -1 : 1;
        if (left->device != right->device)
                return left->device < right->device ? -1 : 1;
        return 0;
}

struct finding {
        struct identity *identity;
        const struct identity_sessions *sessions;
};

/* Notes the file of this line if it is a session's `slots`. bsearch() compares it with sessions, of
 * which `slots` is the first member. */
static bool take_if_slots(char *line, void *context)
{
        struct finding *finding = context;
        struct identity *identity = finding->identity;
        const struct identity_sessions *sessions = finding->sessions;
        const struct identity_session *found;
        enum identity_rank rank;
        struct identity_file file;

        if (!read_file(line, &file) || !file.inode)
                return false;
        found = bsearch(&file, sessions->session, sessions->count, sizeof(*found),
                        identity_compare);
        if (!found)
                return false;
        rank = found->owner_uid == identity->uid ? IDENTITY_OF_ITS_USERS : IDENTITY_OF_ANOTHERS;
        if (rank > identity->rank) {
                identity->rank = rank;
                identity->slots = file;
        }
        return false;
}

static bool is_mapping_of(char *line, void *context)
{
        struct identity_file *wanted = context, file;

        if (!read_file(line, &file) || file.inode != wanted->inode || file.device != wanted->device)
                return false;
        wanted->inode = 0;
        return true;
}

int identity_has_mapped(uint32_t pid, const struct identity_file *file, uint64_t until_ns)
{
        struct identity_file wanted = *file;
        struct maps_look look = { is_mapping_of, &wanted, until_ns, false };
        scoped_file FILE *maps = open_maps(pid);

        read_maps(maps, &look);
        if (wanted.inode == 0)
                return 1;
        return look.is_cut ? -EAGAIN : 0;
}

bool identity_begin(uint32_t pid, struct identity *ret, FILE **maps)
{
        scoped_fd int held = identity_hold(pid);
        struct identity identity = { .pid = pid, .start_ticks = read_start(pid) };
        char path[64];
        struct stat st;

        if (!identity.start_ticks || !read_status(pid, &identity))
                return false;
        if (held >= 0)
                identity.pidfd_inode = inode_of(held);
        snprintf(path, sizeof(path), "/proc/%u/ns/pid", pid);
        if (stat(path, &st) == 0)
                identity.pid_ns = (uint64_t)st.st_ino;
        read_cgroup(pid, &identity);
        *maps = open_maps(pid);
        identity.has_maps = identity.is_partial = *maps != NULL;
        identity.is_exiting = is_exiting(pid);
        *ret = identity;
        return true;
}

/* The list of mappings continues at its position even if earlier mappings have changed. If the
 * process exits, an empty reading does not count as the end, so is_exiting is read again. */
bool identity_go_on(struct identity *identity, FILE *maps, const struct identity_sessions *sessions,
                    uint64_t until_ns)
{
        struct finding finding = { identity, sessions };
        struct maps_look look = { take_if_slots, &finding, until_ns, false };

        read_maps(maps, &look);
        identity->is_partial = look.is_cut;
        identity->is_exiting = is_exiting(identity->pid);
        return !look.is_cut;
}

bool identity_is_same(int held, const struct identity *identity)
{
        uint64_t inode = inode_of(held);

        return inode && identity->pidfd_inode ? inode == identity->pidfd_inode
                                              : read_start(identity->pid) == identity->start_ticks;
}

bool identity_was_there(const struct identity *identity, uint64_t boot_ns)
{
        return (identity->start_ticks + 1) * TICK_NS(sysconf(_SC_CLK_TCK)) <= boot_ns;
}

static bool is_below(const char *cgroup, const char *prefix, size_t length)
{
        while (length && prefix[length - 1] == '/')
                length--;
        return strncmp(cgroup, prefix, length) == 0 &&
               (cgroup[length] == '\0' || cgroup[length] == '/');
}

/* A path with "..", which leads out of the visible hierarchy, counts as below no cgroup. */
bool identity_is_in(const struct identity *identity, const char *cgroups)
{
        if (identity->is_cgroup_hidden)
                return cgroups[0] != '\0';
        if (identity->cgroup[0] != '/' || strstr(identity->cgroup, "/../") ||
            strcmp(identity->cgroup, "/..") == 0)
                return false;
        for (const char *at = cgroups; *at; at += strspn(at, ", ")) {
                size_t length = strcspn(at, ", ");

                if (length && is_below(identity->cgroup, at, length))
                        return true;
                at += length;
        }
        return false;
}

bool identity_is_host(void)
{
        struct stat st;

        return stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == HOST_PID_NS;
}
