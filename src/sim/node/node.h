/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated node: the state that all its processes share, in STATE_DIR/node.
 *
 *      devices    their properties (constant once made), and how much of each is granted
 *      rows       one for each process: which process it is
 *      columns    a row's part of a device: its grants, and its engine time there (meter)
 *      tags       the same by session tag (ALIQUOT_SESSION), with exact high-water marks
 *      objects    memory that several processes may hold (exports and IPC), see share.h
 *      time       which threads wait for what, if the clock is virtual, see authority.h
 *
 * Locks, all robust and process-shared, are taken in this order: node.lock (adding and removing
 * rows, tags, objects), then one device.lock (all numbers of that device: its own, and the columns
 * of its rows and tags). A process that finds a device's lock left by a dead owner recomputes the
 * sums from the rows.
 *
 * Only a row's own process writes its columns, until it is dead; then the process that notices
 * does. A process is alive while its thread that attached has not left its address space (`alive`,
 * a robust mutex it holds), or else while the kernel holds its lock on byte `row` of
 * STATE_DIR/alive. A dead process's bytes leave its tag at once, and its device at most the drain
 * delay later (life.c).
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
        FAMILY_MANAGED, /* may exceed the device, see docs/simulator-config.md */
        FAMILY_ARRAY,
        FAMILY_POOL,  /* reserved by pools */
        FAMILY_GRAPH, /* reserved for graph memory nodes */
        FAMILY_VMM,
        FAMILY_IMPORT, /* carried on for another process */
        FAMILY_MODULE,
        FAMILY_CONTEXT,
        FAMILY_COUNT,
};

/* Kinds of engine time, for utilisation. */
enum engine { ENGINE_COMPUTE, ENGINE_COPY, ENGINE_COUNT };

/* Directions between a device and the host, for the device as a whole; part of what ENGINE_COPY
 * counts. */
enum host_way { WAY_TO_DEVICE, WAY_TO_HOST, WAY_COUNT };

/* Engine time of the last NODE_BUCKETS * NODE_BUCKET_NS. Executors write it, relaxed; the first
 * writer empties a bucket with an old epoch. A rare lost update is accepted. */
struct node_meter {
        struct {
                _Atomic uint64_t epoch; /* time / NODE_BUCKET_NS */
                _Atomic uint64_t busy_ns;
        } bucket[NODE_BUCKETS];
        _Atomic uint64_t total_ns;
};

enum column_state { COLUMN_UNUSED, COLUMN_LIVE, COLUMN_DRAINING };

/* A process's part of one device. Guarded by that device's lock, except the meters. */
struct node_column {
        uint64_t granted_bytes[FAMILY_COUNT];
        uint64_t current_bytes; /* sum of the families */
        uint64_t high_bytes;
        uint64_t borrowed_bytes; /* of current: already counted for the device in another row */
        uint64_t seen_ns;        /* COLUMN_LIVE: when it was last seen alive */
        uint64_t drained_at_ns;  /* COLUMN_DRAINING: when it leaves the device */
        uint32_t state;          /* enum column_state */
        uint32_t contexts;
};

enum row_state { ROW_FREE, ROW_LIVE, ROW_DEAD };

struct node_row {
        _Atomic uint32_t state; /* enum row_state; changes under node.lock */
        uint32_t tag;           /* index into tags */
        /* rises with each use of the row, so that a reference to an old use shows */
        uint32_t generation;
        int32_t pid;            /* in its own PID namespace */
        uint64_t pid_namespace; /* inode of /proc/self/ns/pid */
        uint64_t attached_ns;
        char name[64];         /* path of the program; its end if it is too long */
        pthread_mutex_t alive; /* held by the thread that attached, never released */
        _Atomic uint32_t is_holder_gone;
        uint32_t checkpoint_state; /* CUprocessState; written by its own process */
};

/* Guarded by the device's lock. */
struct node_tag_column {
        uint64_t current_bytes;
        uint64_t high_bytes;
        _Atomic uint64_t busy_ns;  /* of the compute engine; no lock */
        struct node_flight flight; /* guarded by the device's flight_lock */
};

struct node_tag {
        char name[128]; /* set once, under node.lock; the empty name is tag 0 */
        struct node_tag_column column[SIM_DEVICES];
};

/* Which code made a call of the driver (calls=on). */
enum caller { CALLER_PROGRAM, CALLER_LIBRARY, CALLER_COUNT };

struct node_device {
        /* Constant. */
        unsigned char uuid[16];
        char name[64];
        unsigned pci_domain, pci_bus, pci_device;
        uint32_t is_mig;
        uint64_t memory_bytes;

        pthread_mutex_t flight_lock; /* see flights.h */
        pthread_mutex_t lock;
        uint64_t used_bytes;    /* all but managed; never above memory_bytes */
        uint64_t managed_bytes; /* takes free memory only, and yields to other families */
        uint64_t high_bytes;    /* of used + managed */
        _Atomic uint32_t is_lost;
        struct node_meter meter[ENGINE_COUNT];
        struct node_meter way[WAY_COUNT];
        /* For the executors of all processes; zero when made. Owned by exec/engine.h. */
        _Alignas(64) unsigned char exec[NODE_EXEC_BYTES];
};

/* Memory that outlives one holder: guarded by its device's lock; slots are assigned under
 * node.lock. */
struct sim_holder {
        uint32_t row, generation;
        uint32_t references;
        uint32_t family;      /* of the grant, if it carries one */
        uint32_t is_carrying; /* the tag's grant is in this holder's column */
        uint32_t is_borrowed; /* and the device's is in another's */
};

struct node_object {
        uint64_t id;     /* 0 = free slot; also names the backing file, STATE_DIR/object-ID */
        uint64_t bytes;  /* counted bytes; 0 if its maker's pool counts them */
        uint64_t offset; /* in that file */
        uint64_t length; /* there */
        uint32_t device;
        uint32_t
                is_afloat; /* no holder, but an exported descriptor is open: the device counts it */
        uint32_t maker_row, maker_generation;
        uint32_t holder_count;
        struct sim_holder holder[NODE_HOLDERS];
};

struct sim_node {
        uint64_t magic;
        uint32_t version;
        uint32_t is_ready; /* set last, by the maker, under the lock of STATE_DIR/lock */
        uint64_t file_bytes;
        uint64_t shape; /* hash of the configuration's shape part */
        uint32_t device_count;
        uint32_t model; /* enum sim_model */
        uint32_t is_clock_virtual;
        uint64_t made_ns;
        uint64_t drain_ns;
        pthread_mutex_t lock;
        _Atomic uint32_t row_high; /* rows at and above were never used */
        uint32_t tag_count;
        uint32_t object_high; /* objects at and above were never used; grows under node.lock */
        _Atomic uint64_t next_id;
        /* When the driver's lock around VMM calls is free again. Any process, by compare and swap;
         * nothing to put right after a death, as time passes by itself. */
        _Atomic uint64_t vmm_free_ns;
        struct node_device device[SIM_DEVICES];
        struct node_tag tag[NODE_TAGS];
        struct node_object object[NODE_OBJECTS];
        struct node_row row[NODE_PROCESSES];
        /* By device, then by row, so that summing a device walks one stretch of memory. */
        struct node_column column[SIM_DEVICES][NODE_PROCESSES];
        struct node_meter meter[NODE_PROCESSES][SIM_DEVICES][ENGINE_COUNT];
        struct node_flight flight[SIM_DEVICES]
                                 [NODE_PROCESSES]; /* guarded by the device's flight_lock */
        /* With calls=on. Names are set once, under node.lock, from the first on; counts by tag. */
        char call_name[NODE_CALLS][56];
        _Atomic uint64_t calls[NODE_TAGS][NODE_CALLS][CALLER_COUNT];
        struct authority time; /* with a virtual clock */
};

/* Maps the node of config_get(); creates it if no process lives in it. NULL: see errno. */
struct sim_node *node_open(void);

/* Maps an existing node without attaching, for readers (the oracle). NULL: see errno. */
struct sim_node *node_open_existing(const char *state_dir);

/* Takes a row for this process. The row number, or a negative errno. Once, from cuInit. */
int node_attach(struct sim_node *node);

/* This process's row, or NULL before node_attach() and in a forked child. */
struct node_row *node_self(void);
struct sim_node *node_get(void);

enum grant_result { GRANT_OK, GRANT_FULL };

/* Counts `bytes` of a family for this process, or refuses: the device is full. Exact. */
enum grant_result node_grant(unsigned device, enum family family, uint64_t bytes);
void node_release(unsigned device, enum family family, uint64_t bytes);

/* Free bytes of a device as cuMemGetInfo says, dead processes' memory settled first. */
uint64_t node_free_bytes(unsigned device);

/* Finds dead processes, and drained ones. Cheap; any process may call it at any time. */
void node_settle(struct sim_node *node);

/* True when the row's process is alive. Does not change anything. */
bool node_row_is_alive(struct sim_node *node, unsigned row);

/* Whether the process was stopped by a signal. False if that cannot be seen. */
bool node_row_is_stopped(struct sim_node *node, unsigned row);

/* Engine time of this process: [start_ns, end_ns) of `device` was busy. */
void node_busy_add(unsigned device, enum engine engine, uint64_t start_ns, uint64_t end_ns);

/* The same for a way between `device` and the host. */
void node_way_add(unsigned device, enum host_way way, uint64_t start_ns, uint64_t end_ns);

/* Busy nanoseconds among the last `window_ns` (at most 3 s) up to `now_ns`. */
uint64_t node_meter_read(const struct node_meter *meter, uint64_t now_ns, uint64_t window_ns);

/* For share.h and node.c: takes and releases a device's lock; repairs the sums after the death of
 * its owner. */
void node_device_lock(struct sim_node *node, unsigned device);
void node_device_unlock(struct sim_node *node, unsigned device);

/* Takes node.lock; a death needs no repair of what it guards. */
void node_lock(struct sim_node *node);

#endif
