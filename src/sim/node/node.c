/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creates, finds and maps the node file.
 *
 * A process holds STATE_DIR/lock while it examines the node file. If there is no usable node file,
 * it creates a new one under another name and renames it to replace the old file. A node with a
 * living process is never replaced: a process whose configuration has another shape gets EBUSY,
 * with a message on stderr.
 */
#include "sim/node/node.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/minmax.h"
#include "common/reserve.h"
#include "common/scoped.h"
#include "sim/context/device.h"
#include "sim/node/clock.h"
#include "sim/node/mix.h"
#include "sim/node/node_internal.h"
#include "sim/node/robust.h"

#define LOCK_PAUSE_NS 2000000
#define LOCK_TRIES 15000u /* LOCK_TRIES * LOCK_PAUSE_NS = 30 s */

static uint64_t shape_of(const struct sim_config *config)
{
        uint64_t hash = hash_mix(NODE_VERSION, sizeof(struct sim_node));

        hash = hash_mix(hash, config->device_count);
        hash = hash_mix(hash, config->memory_bytes);
        hash = hash_mix(hash, config->seed);
        hash = hash_mix(hash, config->mig);
        hash = hash_mix(hash, config->is_clock_virtual);
        return hash_mix(hash, config->model);
}

/* Makes a UUID like those of version 4 from the seed and the device's index, so that the same node
 * always has the same cards. */
static void uuid_make(unsigned char *uuid, uint64_t seed, unsigned index)
{
        uint64_t high = hash_mix(hash_mix(0x616c6971756f74ULL, seed), index);
        uint64_t low = hash_mix(high, ~seed);

        memcpy(uuid, &high, 8);
        memcpy(uuid + 8, &low, 8);
        uuid[6] = (unsigned char)((uuid[6] & 0x0f) | 0x40);
        uuid[8] = (unsigned char)((uuid[8] & 0x3f) | 0x80);
}

static unsigned devices_of(const struct sim_config *config)
{
        unsigned count = config->device_count * (config->mig ? config->mig : 1);

        return min_u32(count, SIM_DEVICES);
}

static void devices_make(struct sim_node *node, const struct sim_config *config)
{
        const struct model_spec *spec = model_spec(config->model);
        unsigned parts = config->mig ? config->mig : 1;

        node->device_count = devices_of(config);
        for (unsigned i = 0; i < node->device_count; i++) {
                struct node_device *device = &node->device[i];

                uuid_make(device->uuid, config->seed, i);
                if (config->mig)
                        snprintf(device->name, sizeof(device->name), "%s MIG 1of%u", spec->name,
                                 config->mig);
                else
                        snprintf(device->name, sizeof(device->name), "%s", spec->name);
                device->pci_bus = 1 + (i / parts) * 2;
                device->is_mig = config->mig != 0;
                device->memory_bytes = config->memory_bytes / parts;
                robust_init(&device->lock);
                robust_init(&device->flight_lock);
        }
}

/* Device and inode number of the mapped node file. Two threads may open it at once; they find the
 * same file. */
static _Atomic dev_t file_device;
static _Atomic ino_t file_inode;

static struct sim_node *node_map(int fd)
{
        void *address = mmap(NULL, sizeof(struct sim_node), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_NORESERVE, fd, 0);
        struct stat st;

        if (address == MAP_FAILED || fstat(fd, &st) < 0)
                return NULL;
        store_relaxed(&file_device, st.st_dev);
        store_relaxed(&file_inode, st.st_ino);
        return address;
}

/* Allocates room in the file for what every process reads or writes. Most of the node is never
 * used, and stays a hole in the file. The parts for a process are allocated by node_attach(), those
 * for an object by share_make(). */
static bool reserve_beginning(int fd, const struct sim_config *config)
{
        const struct {
                size_t offset, bytes;
        } part[] = {
                { 0, offsetof(struct sim_node, device[devices_of(config)]) },
                { offsetof(struct sim_node, tag), sizeof(((struct sim_node *)0)->tag) },
                { offsetof(struct sim_node, row), sizeof(((struct sim_node *)0)->row) },
                { offsetof(struct sim_node, time),
                  config->is_clock_virtual ? sizeof(((struct sim_node *)0)->time) : 0 },
        };
        int rc = 0;

        for (unsigned i = 0; i < sizeof(part) / sizeof(part[0]) && rc == 0; i++)
                rc = reserve_bytes(fd, part[i].offset, part[i].bytes);
        errno = -rc;
        return rc == 0;
}

int node_reserve(const struct sim_node *node, const void *part, size_t bytes)
{
        char path[320];
        struct stat st;

        snprintf(path, sizeof(path), "%s/node", life_state_dir());
        scoped_fd int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        if (st.st_dev != load_relaxed(&file_device) || st.st_ino != load_relaxed(&file_inode))
                return -ESTALE;
        return reserve_bytes(fd, (uint64_t)((const char *)part - (const char *)node), bytes);
}

/* Makes this process use the node's time from now on. */
static void clock_of_node(struct sim_node *node)
{
        clock_follow_node(node->is_clock_virtual ? &node->time : NULL);
}

static struct sim_node *node_make(const struct sim_config *config, int folder)
{
        char name[64];
        struct sim_node *node = NULL;

        snprintf(name, sizeof(name), "node.%d", (int)getpid());
        scoped_fd int fd = openat(folder, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (fd < 0)
                return NULL;
        if (ftruncate(fd, sizeof(struct sim_node)) == 0 && reserve_beginning(fd, config))
                node = node_map(fd);
        if (!node) {
                unlinkat(folder, name, 0);
                return NULL;
        }
        node->magic = NODE_MAGIC;
        node->version = NODE_VERSION;
        node->file_bytes = sizeof(struct sim_node);
        node->shape = shape_of(config);
        node->model = config->model;
        node->is_clock_virtual = config->is_clock_virtual;
        authority_make(&node->time);
        clock_of_node(node);
        node->made_ns = sim_now_ns();
        node->drain_ns = config->drain_ns;
        node->tag_count = 1;
        store_relaxed(&node->next_id, 1);
        robust_init(&node->lock);
        devices_make(node, config);
        node->is_ready = 1;
        if (renameat(folder, name, folder, "node") < 0) {
                munmap(node, sizeof(*node));
                unlinkat(folder, name, 0);
                return NULL;
        }
        return node;
}

static struct sim_node *node_find(int folder)
{
        scoped_fd int fd = openat(folder, "node", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return NULL;
        if ((uint64_t)st.st_size != sizeof(struct sim_node)) {
                errno = EPROTO;
                return NULL;
        }
        struct sim_node *node = node_map(fd);
        if (!node)
                return NULL;
        if (node->magic != NODE_MAGIC || node->version != NODE_VERSION || !node->is_ready ||
            node->file_bytes != sizeof(struct sim_node)) {
                munmap(node, sizeof(*node));
                errno = EPROTO;
                return NULL;
        }
        return node;
}

static bool node_is_lived_in(struct sim_node *node, int folder)
{
        unsigned high = load_acquire(&node->row_high);

        for (unsigned row = 0; row < high && row < NODE_PROCESSES; row++) {
                if (load_acquire(&node->row[row].state) == ROW_LIVE &&
                    life_is_alive(node, row, folder))
                        return true;
        }
        return false;
}

/* Locks STATE_DIR/lock. Its holder normally needs it for milliseconds, unless the process was
 * stopped, so this gives up after 30 s. */
static int folder_lock(int lock, const char *state_dir)
{
        const struct timespec pause = { .tv_nsec = LOCK_PAUSE_NS };

        for (unsigned tries = 0; flock(lock, LOCK_EX | LOCK_NB) < 0; tries++) {
                if (errno != EWOULDBLOCK && errno != EINTR)
                        return -1;
                if (tries == LOCK_TRIES) {
                        fprintf(stderr,
                                "aliquot-sim: %s/lock: another process holds it for more than 30 "
                                "s; see lslocks(8)\n",
                                state_dir);
                        errno = EBUSY;
                        return -1;
                }
                clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
        }
        return 0;
}

struct sim_node *node_open(void)
{
        const struct sim_config *config = config_get();

        if (!config) {
                errno = EINVAL;
                return NULL;
        }
        if (mkdir(config->state_dir, 0700) < 0 && errno != EEXIST)
                return NULL;
        scoped_fd int folder = open(config->state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (folder < 0)
                return NULL;
        scoped_fd int lock = openat(folder, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (lock < 0)
                return NULL;
        if (folder_lock(lock, config->state_dir) < 0)
                return NULL;

        struct sim_node *node = node_find(folder);
        if (node && node->shape == shape_of(config)) {
                clock_of_node(node);
                return node;
        }
        if (node ? node_is_lived_in(node, folder) : life_is_inhabited(folder)) {
                if (node)
                        munmap(node, sizeof(*node));
                fprintf(stderr,
                        "aliquot-sim: %s: other processes use this node with other gpus, memory, "
                        "model, seed, mig or clock, or with another version of the simulator\n",
                        config->state_dir);
                errno = EBUSY;
                return NULL;
        }
        if (node)
                munmap(node, sizeof(*node));
        return node_make(config, folder);
}

struct sim_node *node_open_existing(const char *state_dir)
{
        scoped_fd int folder = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        struct sim_node *node = folder < 0 ? NULL : node_find(folder);

        if (node)
                clock_of_node(node);
        return node;
}
