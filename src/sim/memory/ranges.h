/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Address ranges outside the arenas: host memory, reservations, mappings, imports.
 *
 * A set holds disjoint ranges in a tree by address (a treap). There are two sets: `outer_ranges`,
 * and `mapped_ranges` for VMM mappings, which lie inside reservations of the first. ranges_lock
 * guards both and their ranges.
 */
#ifndef ALIQUOT_SIM_MEMORY_RANGES_H
#define ALIQUOT_SIM_MEMORY_RANGES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "sim/memory/memory.h"
#include "sim/memory/slab.h"

struct range {
        CUdeviceptr start, end; /* [start, end) */
        struct range *left, *right;
        uint32_t priority;

        enum memory_kind kind;
        CUdevice device;
        CUcontext context;
        uint64_t id;
        unsigned flags;
        uint32_t read_mask, write_mask; /* MEMORY_VMM: by ordinal, bit 31 = the host */
        void *owner;                    /* the VMM handle or the import, depending on the kind */
        uint64_t offset;                /* in the owner */
        struct slab_place place;        /* narrow.c's */
        uint64_t mapped_bytes;          /* length of the mmap, if it is greater than the range */
};

struct range_set {
        struct range *root;
};

extern pthread_mutex_t ranges_lock;
extern struct range_set outer_ranges, mapped_ranges;

/* False, without effect, if it overlaps another range. The set keeps the range. */
bool range_insert(struct range_set *set, struct range *range);
void range_remove(struct range_set *set, struct range *range);

/* The range that holds the address, or else the first that begins above it. NULL if none. */
struct range *range_find(const struct range_set *set, CUdeviceptr address);
struct range *range_find_from(const struct range_set *set, CUdeviceptr address);

#endif
