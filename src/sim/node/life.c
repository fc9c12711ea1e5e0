/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Life and death of the node's processes: takes rows, detects dead processes, and removes (drains)
 * their memory after a delay.
 *
 * The thread that attached holds the row's mutex `alive` for ever. When that thread leaves its
 * address space, the kernel marks the mutex, before it removes any of the process's mappings and
 * file locks. So while the mutex is not marked, the process exists. If it is marked, perhaps only
 * the thread has ended. Then the lock on the row's byte of STATE_DIR/alive decides and, if that is
 * still held, whether every thread of the process is exiting.
 *
 * No function here waits. No process is notified of a death, so a dead row's memory is released one
 * drain delay after the last sign of life of its process: its last grant, or the last check that
 * found it alive. That is never later than one drain delay after the death, and earlier if there
 * was no such sign shortly before the death.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/environment.h"
#include "common/scoped.h"
#include "sim/node/clock.h"
#include "sim/node/flights.h"
#include "sim/node/node_internal.h"
#include "sim/node/proc_stat.h"
#include "sim/node/robust.h"
#include "sim/node/share.h"

#define LOWEST_DESCRIPTOR 512

static struct sim_node *the_node;
static int self_row = -1;
/* descriptor with the lock on the row's byte, on file systems where a mapping cannot keep the lock;
 * else -1 */
static int lock_fd = -1;
/* state folder that a reader chose in place of the one that ALIQUOT_SIM configures */
static char reader_dir[256];

void life_state_dir_set(const char *state_dir)
{
        snprintf(reader_dir, sizeof(reader_dir), "%s", state_dir);
}

const char *life_state_dir(void)
{
        const struct sim_config *config;

        if (reader_dir[0])
                return reader_dir;
        config = config_get();
        return config ? config->state_dir : "";
}

struct sim_node *node_get(void)
{
        return the_node;
}

struct node_row *node_self(void)
{
        return self_row < 0 ? NULL : &the_node->row[self_row];
}

/* Returns whether every thread of the row's process is exiting and can no longer return. */
static bool process_is_exiting(const struct node_row *row)
{
        char path[320];
        struct proc_status is = { 0 };
        struct stat st;

        if (stat("/proc/self/ns/pid", &st) < 0 || st.st_ino != row->pid_namespace)
                return false;
        snprintf(path, sizeof(path), "/proc/%d/status", row->pid);
        if (proc_status_read(path, &is) && is.has_memory)
                return false;
        snprintf(path, sizeof(path), "/proc/%d/task", row->pid);
        scoped_dir DIR *tasks = opendir(path);
        if (!tasks)
                return true;
        for (struct dirent *task = readdir(tasks); task; task = readdir(tasks)) {
                if (task->d_name[0] == '.')
                        continue;
                snprintf(path, sizeof(path), "/proc/%d/task/%s/status", row->pid, task->d_name);
                if (proc_status_read(path, &is) && is.has_memory)
                        return false;
        }
        return true;
}

static bool lock_is_held(int folder, unsigned row)
{
        scoped_fd int own = -1;
        struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = row, .l_len = 1 };

        if (folder < 0) {
                char path[320];

                snprintf(path, sizeof(path), "%s/alive", life_state_dir());
                own = open(path, O_RDWR | O_CLOEXEC);
        } else {
                own = openat(folder, "alive", O_RDWR | O_CLOEXEC);
        }
        if (own < 0 || fcntl(own, F_OFD_GETLK, &lock) < 0)
                return true;
        return lock.l_type != F_UNLCK;
}

bool life_is_inhabited(int folder)
{
        scoped_fd int own = openat(folder, "alive", O_RDWR | O_CLOEXEC);
        struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

        return own >= 0 && fcntl(own, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool life_is_alive(struct sim_node *node, unsigned index, int folder)
{
        struct node_row *row = &node->row[index];

        if (node == the_node && (int)index == self_row)
                return true;
        if (!load_acquire(&row->is_holder_gone)) {
                int rc = pthread_mutex_trylock(&row->alive);
                if (rc == EBUSY)
                        return true;
                if (rc == 0 || rc == EOWNERDEAD)
                        pthread_mutex_unlock(&row->alive);
                store_release(&row->is_holder_gone, 1);
        }
        return lock_is_held(folder, index) && !process_is_exiting(row);
}

bool node_row_is_alive(struct sim_node *node, unsigned row)
{
        return load_acquire(&node->row[row].state) == ROW_LIVE && life_is_alive(node, row, -1);
}

bool node_row_is_stopped(struct sim_node *node, unsigned index)
{
        const struct node_row *row = &node->row[index];
        struct proc_status is;
        char path[64];
        struct stat st;

        if (stat("/proc/self/ns/pid", &st) < 0 || st.st_ino != row->pid_namespace)
                return false;
        snprintf(path, sizeof(path), "/proc/%d/status", row->pid);
        return proc_status_read(path, &is) && strchr("Tt", is.state);
}

/* Returns the time for checks of dead processes. Virtual time may stand still while no party waits
 * for a time. Dead processes do not wait, so the checking process then looks for dead parties. */
static uint64_t settling_time_ns(struct sim_node *node)
{
        if (node->is_clock_virtual)
                authority_look(&node->time);
        return sim_now_ns();
}

static bool is_of_tag(const struct sim_node *node, const struct node_column *column, unsigned row,
                      int tag)
{
        return tag < 0 || (column->state == COLUMN_LIVE && node->row[row].tag == (unsigned)tag);
}

void life_settle_device(struct sim_node *node, unsigned device, int tag)
{
        unsigned high = load_acquire(&node->row_high);
        /* read before the check: a process that the check finds alive was alive then */
        uint64_t looked_ns = sim_now_ns();
        uint64_t now_ns = 0;

        for (unsigned row = 0; row < high; row++) {
                struct node_column *column = &node->column[device][row];

                if (column->state == COLUMN_UNUSED || !is_of_tag(node, column, row, tag))
                        continue;
                if (column->state == COLUMN_LIVE && life_is_alive(node, row, -1)) {
                        column->seen_ns = looked_ns;
                        continue;
                }
                if (now_ns == 0)
                        now_ns = settling_time_ns(node);
                if (column->state == COLUMN_LIVE) {
                        column_drop_from_tag(node, device, row);
                        column->drained_at_ns = column->seen_ns + node->drain_ns;
                        column->state = COLUMN_DRAINING;
                }
                if (column->state == COLUMN_DRAINING && now_ns >= column->drained_at_ns)
                        column_drop_from_device(node, device, row);
        }
}

void node_lock(struct sim_node *node)
{
        if (robust_lock(&node->lock) == EOWNERDEAD)
                pthread_mutex_consistent(&node->lock);
}

/* Returns true when the dead row has no memory left on any device. The caller holds node.lock. */
static bool row_is_drained(struct sim_node *node, unsigned row)
{
        for (unsigned device = 0; device < node->device_count; device++) {
                if (node->column[device][row].state != COLUMN_UNUSED)
                        return false;
        }
        return true;
}

void node_settle(struct sim_node *node)
{
        unsigned high = load_acquire(&node->row_high);

        for (unsigned device = 0; device < node->device_count; device++) {
                node_device_lock(node, device);
                life_settle_device(node, device, -1);
                node_device_unlock(node, device);
                flights_settle(node, device);
        }
        node_lock(node);
        for (unsigned row = 0; row < high; row++) {
                struct node_row *slot = &node->row[row];

                if (load_relaxed(&slot->state) == ROW_LIVE && !life_is_alive(node, row, -1))
                        store_release(&slot->state, ROW_DEAD);
                if (load_relaxed(&slot->state) == ROW_DEAD && row_is_drained(node, row))
                        store_release(&slot->state, ROW_FREE);
        }
        share_settle(node);
        pthread_mutex_unlock(&node->lock);
}

/* Finds or adds a tag; the caller holds node.lock. Two names that differ only beyond the field's
 * length share a tag; the oracle shows the shortened name. */
static unsigned tag_find(struct sim_node *node, const char *name)
{
        for (unsigned tag = 0; tag < node->tag_count; tag++) {
                if (strncmp(node->tag[tag].name, name, sizeof(node->tag[tag].name) - 1) == 0)
                        return tag;
        }
        if (node->tag_count == NODE_TAGS)
                return 0;
        snprintf(node->tag[node->tag_count].name, sizeof(node->tag[0].name), "%s", name);
        return node->tag_count++;
}

/* Returns whether the file is on an overlay. There the kernel maps the file of a lower layer, which
 * does not have the lock, so the descriptor must stay open to keep the lock. */
static bool is_overlaid(int fd)
{
        struct statfs fs;

        return fstatfs(fd, &fs) == 0 && fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

/* Keeps the descriptor with the lock under a high number, because programs rely on low ones; under
 * any number if the limit of descriptors is lower. */
static int lock_keep(int fd)
{
        lock_fd = fcntl(fd, F_DUPFD_CLOEXEC, LOWEST_DESCRIPTOR);
        if (lock_fd < 0 && errno == EINVAL)
                lock_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        return lock_fd < 0 ? -errno : 0;
}

/* Locks byte `row` of the liveness file and makes one private mapping of the file keep the lock, so
 * that it lasts exactly as long as this address space, independent of descriptors and children. */
static int liveness_take(unsigned row)
{
        char path[320];
        struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = row, .l_len = 1 };

        snprintf(path, sizeof(path), "%s/alive", life_state_dir());
        scoped_fd int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0)
                return -errno;
        if (fcntl(fd, F_OFD_SETLK, &lock) < 0)
                return -errno;
        void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
        if (page == MAP_FAILED)
                return -errno;
        madvise(page, 4096, MADV_DONTFORK);
        return is_overlaid(fd) ? lock_keep(fd) : 0;
}

static void row_fill(struct node_row *row)
{
        struct stat st = { 0 };
        char path[256];
        const char *tag = environment_get("ALIQUOT_SESSION");

        row->pid = getpid();
        stat("/proc/self/ns/pid", &st);
        row->pid_namespace = st.st_ino;
        row->attached_ns = sim_now_ns();
        ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
        path[n < 0 ? 0 : n] = '\0';
        size_t length = strlen(path);
        size_t skip = length >= sizeof(row->name) ? length - sizeof(row->name) + 1 : 0;
        snprintf(row->name, sizeof(row->name), "%s", path + skip);
        row->tag = tag_find(the_node, tag ? tag : "");
        row->checkpoint_state = 0;
        row->generation++;
}

static void alive_hold(struct node_row *row)
{
        robust_init(&row->alive);
        store_release(&row->is_holder_gone, 0);
        /* free, because no other process uses the row yet; nothing ever waits for it */
        (void)pthread_mutex_trylock(&row->alive);
}

static void forked_child(void)
{
        self_row = -1;
        if (lock_fd >= 0)
                close(lock_fd);
        lock_fd = -1;
}

/* Allocates the parts of the node that only a process of this row uses. */
static int row_reserve(struct sim_node *node, unsigned row)
{
        int rc = node_reserve(node, node->meter[row],
                              node->device_count * sizeof(node->meter[row][0]));

        for (unsigned device = 0; device < node->device_count && rc == 0; device++) {
                rc = node_reserve(node, &node->column[device][row],
                                  sizeof(node->column[device][row]));
                if (rc == 0)
                        rc = node_reserve(node, &node->flight[device][row],
                                          sizeof(node->flight[device][row]));
        }
        if (rc == 0 && config_get()->has_calls)
                rc = node_reserve(node, node->call_name, sizeof(node->call_name));
        return rc;
}

static int tag_reserve(struct sim_node *node, unsigned tag)
{
        return config_get()->has_calls
                       ? node_reserve(node, node->calls[tag], sizeof(node->calls[tag]))
                       : 0;
}

int node_attach(struct sim_node *node)
{
        int rc = -EUSERS;

        the_node = node;
        node_settle(node);
        node_lock(node);
        for (unsigned i = 0; i < NODE_PROCESSES; i++) {
                struct node_row *row = &node->row[i];

                if (load_relaxed(&row->state) != ROW_FREE)
                        continue;
                rc = row_reserve(node, i);
                if (rc < 0)
                        break;
                /* a lock on the byte of a free row belongs to a process that just died */
                rc = liveness_take(i);
                if (rc == -EAGAIN || rc == -EACCES)
                        continue;
                if (rc < 0)
                        break;
                row_fill(row);
                rc = tag_reserve(node, row->tag);
                if (rc < 0)
                        break;
                alive_hold(row);
                flights_begin(node, i);
                memset(node->meter[i], 0, node->device_count * sizeof(node->meter[i][0]));
                if (load_relaxed(&node->row_high) <= i)
                        store_release(&node->row_high, i + 1);
                store_release(&row->state, ROW_LIVE);
                self_row = rc = (int)i;
                break;
        }
        pthread_mutex_unlock(&node->lock);
        if (rc >= 0)
                pthread_atfork(NULL, NULL, forked_child);
        return rc;
}
