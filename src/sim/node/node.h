/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated node: the state that all its processes share, in STATE_DIR/node.
 *
 *      devices    their properties (constant once made), and how much memory of each is granted
 *      rows       one for each process, with its identity
 *      columns    a row's part of a device: its grants, and its engine time there (meter)
 *      tags       sums by session tag (ALIQUOT_SESSION), with exact maxima
 *      objects    memory that several processes may hold (exports and IPC), see share.h
 *      time       which threads wait for what, if the clock is virtual, see authority.h
 *
 * Locks, all robust and process-shared, are taken in this order: node.lock (adding and removing
 * rows, tags, objects), then one device.lock (all numbers of that device: its own, and the columns
 * of its rows and tags). A process that finds a device's lock left by a dead owner recomputes the
 * sums from the rows.
 *
 * Only a row's own process writes its columns while it is alive; after its death, the process that
 * notices the death does. A process is alive while its thread that attached has not left its
 * address space (that thread holds the robust mutex `alive`), or else while the kernel still has
 * the process's lock on byte `row` of STATE_DIR/alive. The bytes of a dead process leave its tag at
 * once, and its device at most the drain delay later (life.c).
 */
#ifndef ALIQUOT_SIM_NODE_NODE_H
#define ALIQUOT_SIM_NODE_NODE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/node/authority.h"
#include "sim/node/config.h"
#include "sim/node/flight.h"

#define NODE_MAGIC 0x316d69732d716c61ULL /* "alq-sim1" */
#define NODE_VERSION 10
#define NODE_PROCESSES 4096
#define NODE_TAGS 1024
#define NODE_OBJECTS 4096
#define NODE_HOLDERS 32
#define NODE_BUCKETS 64
#define NODE_BUCKET_NS 50000000ULL
#define NODE_CALLS 768
#define NODE_EXEC_BYTES 196608

/* The purpose of a grant. */
enum family {
        FAMILY_ALLOC,   /* cuMemAlloc, cuMemAllocPitch */
        FAMILY_MANAGED, /* the sum may exceed the device's memory, see docs/simulator-config.md */
        FAMILY_ARRAY,
        FAMILY_POOL,  /* memory that pools have reserved */
        FAMILY_GRAPH, /* memory reserved for graph memory nodes */
        FAMILY_VMM,
        /* memory of another process, which this one carries after that one closed it */
        FAMILY_IMPORT,
        FAMILY_MODULE,
        FAMILY_CONTEXT,
        FAMILY_COUNT,
};

/* Kinds of engine time, for utilisation. */
enum engine { ENGINE_COMPUTE, ENGINE_COPY, ENGINE_COUNT };

/* Directions of copies between a device and the host. Their time is a part of what ENGINE_COPY
 * counts. */
enum host_way { WAY_TO_DEVICE, WAY_TO_HOST, WAY_COUNT };

/* Engine time of the last NODE_BUCKETS * NODE_BUCKET_NS. The threads that run work write it
 * (relaxed). The first writer of a new period resets the bucket of an old one. A lost update is
 * accepted because it is rare. */
struct node_meter {
        struct {
                _Atomic uint64_t epoch; /* number of the period: time / NODE_BUCKET_NS */
                _Atomic uint64_t busy_ns;
        } bucket[NODE_BUCKETS];
        _Atomic uint64_t total_ns;
};

enum column_state { COLUMN_UNUSED, COLUMN_LIVE, COLUMN_DRAINING };

/* A process's part of one device. Guarded by that device's lock, except the meters. */
struct node_column {
        uint64_t granted_bytes[FAMILY_COUNT];
        uint64_t current_bytes; /* sum of granted_bytes */
        uint64_t high_bytes;
        /* part of current_bytes that the device counts in the row of another process */
        uint64_t borrowed_bytes;
        uint64_t seen_ns;       /* in COLUMN_LIVE: when the process was last seen alive */
        uint64_t drained_at_ns; /* in COLUMN_DRAINING: when the bytes leave the device */
        uint32_t state;         /* enum column_state */
        uint32_t contexts;
};

enum row_state { ROW_FREE, ROW_LIVE, ROW_DEAD };

struct node_row {
        _Atomic uint32_t state; /* enum row_state; changed under node.lock */
        uint32_t tag;           /* index in sim_node.tag */
        /* rises with each use of the row, which shows that a reference is to an earlier process */
        uint32_t generation;
        int32_t pid;            /* pid in the process's own PID namespace */
        uint64_t pid_namespace; /* identifies the PID namespace: inode of /proc/self/ns/pid */
        uint64_t attached_ns;
        char name[64];         /* path of the program; only its end if it is too long */
        pthread_mutex_t alive; /* held by the thread that attached, and never released */
        _Atomic uint32_t is_holder_gone;
        uint32_t checkpoint_state; /* CUprocessState; written by the row's own process */
};

/* A session tag's part of one device. Guarded by the device's lock. */
struct node_tag_column {
        uint64_t current_bytes;
        uint64_t high_bytes;
        _Atomic uint64_t busy_ns;  /* time on the compute engine; not guarded */
        struct node_flight flight; /* guarded by the device's flight_lock */
};

struct node_tag {
        char name[128]; /* set once, under node.lock; the empty name is tag 0 */
        struct node_tag_column column[SIM_DEVICES];
};

/* The code that called a driver function (calls=on). */
enum caller { CALLER_PROGRAM, CALLER_LIBRARY, CALLER_COUNT };

struct node_device {
        /* Constant fields. */
        unsigned char uuid[16];
        char name[64];
        unsigned pci_domain, pci_bus, pci_device;
        uint32_t is_mig;
        uint64_t memory_bytes;

        pthread_mutex_t flight_lock; /* guards the flights of the device, see flights.h */
        pthread_mutex_t lock;
        uint64_t used_bytes; /* all grants except managed memory; never above memory_bytes */
        /* managed memory: uses only free memory, and gives way to other families */
        uint64_t managed_bytes;
        uint64_t high_bytes; /* maximum of used_bytes + managed_bytes */
        _Atomic uint32_t is_lost;
        struct node_meter meter[ENGINE_COUNT];
        struct node_meter way[WAY_COUNT];
        /* A struct exec_device, defined in exec/engine.h, for the threads that run work in any
         * process; zero at first. */
        _Alignas(64) unsigned char exec[NODE_EXEC_BYTES];
};

/* A process that holds an object (memory that several processes may hold). Guarded by the object's
 * device's lock. */
struct sim_holder {
        uint32_t row, generation;
        uint32_t references;
        uint32_t family; /* family of the grant, if this holder carries the object for its tag */
        /* the object's bytes are counted in this holder's column, for its tag */
        uint32_t is_carrying;
        uint32_t is_borrowed; /* the device counts them in the column of another holder */
};

struct node_object {
        /* 0: free entry; otherwise also part of the name of the backing file,
         * STATE_DIR/object-ID */
        uint64_t id;
        uint64_t bytes;  /* bytes that are counted; 0 if its maker's pool counts them */
        uint64_t offset; /* offset of the memory in the backing file */
        uint64_t length; /* length of the memory in the backing file */
        uint32_t device;
        /* the object has no holder, but an exported descriptor is open: only the device counts
         * it */
        uint32_t is_afloat;
        uint32_t maker_row, maker_generation;
        uint32_t holder_count;
        struct sim_holder holder[NODE_HOLDERS];
};

struct sim_node {
        uint64_t magic;
        uint32_t version;
        /* set last, by the process that creates the node, under the lock of STATE_DIR/lock */
        uint32_t is_ready;
        uint64_t file_bytes;
        uint64_t shape; /* hash of the configuration keys that define the shape */
        uint32_t device_count;
        uint32_t model; /* enum sim_model */
        uint32_t is_clock_virtual;
        uint64_t made_ns;
        uint64_t drain_ns;
        pthread_mutex_t lock;
        _Atomic uint32_t row_high; /* rows with this index or a higher one were never used */
        uint32_t tag_count;
        /* objects with this index or a higher one were never used; grows under node.lock */
        uint32_t object_high;
        _Atomic uint64_t next_id;
        /* When the driver's lock around VMM calls is free again. Any process moves it, by compare
         * and swap. A process that dies leaves nothing to repair, because the time passes by
         * itself. */
        _Atomic uint64_t vmm_free_ns;
        struct node_device device[SIM_DEVICES];
        struct node_tag tag[NODE_TAGS];
        struct node_object object[NODE_OBJECTS];
        struct node_row row[NODE_PROCESSES];
        /* Indexed by device first, so that summing a device reads consecutive memory. */
        struct node_column column[SIM_DEVICES][NODE_PROCESSES];
        struct node_meter meter[NODE_PROCESSES][SIM_DEVICES][ENGINE_COUNT];
        struct node_flight flight[SIM_DEVICES]
                                 [NODE_PROCESSES]; /* guarded by the device's flight_lock */
        /* Used with calls=on. The names fill the array from its start, and each is set once, under
         * node.lock; the counts are by tag. */
        char call_name[NODE_CALLS][56];
        _Atomic uint64_t calls[NODE_TAGS][NODE_CALLS][CALLER_COUNT];
        struct authority time; /* used with a virtual clock */
};

/* Maps the node that config_get() describes; creates it if no process lives in it. NULL: see
 * errno. */
struct sim_node *node_open(void);

/* Maps an existing node without attaching, for programs that only read it (the oracle). NULL: see
 * errno. */
struct sim_node *node_open_existing(const char *state_dir);

/* Takes a row for this process; cuInit calls it once. Returns the row's index, or a negative
 * errno. */
int node_attach(struct sim_node *node);

/* Returns this process's row, or NULL before node_attach() and in a forked child. */
struct node_row *node_self(void);
struct sim_node *node_get(void);

enum grant_result { GRANT_OK, GRANT_FULL };

/* Grants this process `bytes` of the device, counted as `family`. GRANT_FULL: the device has too
 * little free memory. The check is exact. */
enum grant_result node_grant(unsigned device, enum family family, uint64_t bytes);
void node_release(unsigned device, enum family family, uint64_t bytes);

/* Removes dead processes' memory that is due, and returns the free bytes of a device, as for
 * cuMemGetInfo. */
uint64_t node_free_bytes(unsigned device);

/* Finds dead processes, and removes the memory of those whose drain delay is over. Cheap; any
 * process may call it at any time. */
void node_settle(struct sim_node *node);

/* Returns whether the row's process is alive. Changes nothing. */
bool node_row_is_alive(struct sim_node *node, unsigned row);

/* Returns whether the row's process was stopped by a signal. False if that cannot be determined. */
bool node_row_is_stopped(struct sim_node *node, unsigned row);

/* Adds engine time of this process to the meters: `device` was busy in [start_ns, end_ns). */
void node_busy_add(unsigned device, enum engine engine, uint64_t start_ns, uint64_t end_ns);

/* Adds the time of a copy between `device` and the host, in the given direction. */
void node_way_add(unsigned device, enum host_way way, uint64_t start_ns, uint64_t end_ns);

/* Returns the busy nanoseconds within the last `window_ns` (at most 3 s) before `now_ns`. */
uint64_t node_meter_read(const struct node_meter *meter, uint64_t now_ns, uint64_t window_ns);

/* Lock and unlock a device, for share.h and node.c. If the lock's owner died, node_device_lock()
 * recomputes the sums. */
void node_device_lock(struct sim_node *node, unsigned device);
void node_device_unlock(struct sim_node *node, unsigned device);

/* Takes node.lock. What it guards needs no repair after the death of its owner. */
void node_lock(struct sim_node *node);

#endif
