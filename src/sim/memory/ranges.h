/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Address ranges outside the arenas: host memory, reservations, mappings, imports.
 *
 * A set has disjoint ranges in a tree ordered by address (a treap). There are two sets:
 * `outer_ranges`, and `mapped_ranges` for VMM mappings, which are within reservations of the first
 * set. ranges_lock guards both sets and their ranges.
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
        CUdeviceptr start, end; /* first address, and the address behind the last one */
        struct range *left, *right;
        uint32_t priority;

        enum memory_kind kind;
        CUdevice device;
        CUcontext context;
        uint64_t id;
        unsigned flags;
        uint32_t read_mask, write_mask; /* in MEMORY_VMM: one bit per ordinal; bit 31 = the host */
        void *owner;     /* the VMM handle or the import that is mapped, depending on the kind */
        uint64_t offset; /* offset in the owner's memory */
        struct slab_place place; /* used by narrow.c */
        /* length of the mapping that ends with the range; it may be longer than the range */
        uint64_t mapped_bytes;
};

struct range_set {
        struct range *root;
};

extern pthread_mutex_t ranges_lock;
extern struct range_set outer_ranges, mapped_ranges;

/* Adds a range; the set then owns it. False, without effect, if the range overlaps another one. */
bool range_insert(struct range_set *set, struct range *range);
void range_remove(struct range_set *set, struct range *range);

/* range_find() returns the range that contains the address. range_find_from() returns that range,
 * or else the first one that begins above the address. NULL if there is none. */
struct range *range_find(const struct range_set *set, CUdeviceptr address);
struct range *range_find_from(const struct range_set *set, CUdeviceptr address);

#endif
