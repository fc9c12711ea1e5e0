/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the memory at an address, and checks accesses to it.
 *
 * Device memory is host memory at the pointer's own address, so code that executes a copy or a
 * kernel checks here and then uses the pointer. memory_check() is the rule of access: every byte in
 * [address, address + bytes) belongs to live, mapped memory that allows the access from that
 * device. Nothing here reads or writes the bytes.
 *
 * Blocks are described by value, as a snapshot. The caller must not free the memory while it uses
 * it; a program that does makes an illegal access that the model may miss.
 */
#ifndef ALIQUOT_SIM_MEMORY_MEMORY_H
#define ALIQUOT_SIM_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "sim/node/config.h"

enum memory_kind {
        MEMORY_NONE,   /* nothing known: pageable host memory, or a wrong device pointer */
        MEMORY_DEVICE, /* cuMemAlloc, pitch */
        MEMORY_MANAGED,
        MEMORY_POOL,       /* cuMemAllocAsync, cuMemAllocFromPoolAsync */
        MEMORY_GRAPH,      /* a graph memory node */
        MEMORY_VMM,        /* one mapping in a reserved range */
        MEMORY_RESERVED,   /* reserved address space without mapping */
        MEMORY_HOST,       /* cuMemHostAlloc, cuMemAllocHost */
        MEMORY_REGISTERED, /* cuMemHostRegister */
        MEMORY_IMPORT,     /* legacy IPC, external memory */
        MEMORY_MODULE,     /* a module's global */
};

enum memory_access { ACCESS_READ = 1, ACCESS_WRITE = 2, ACCESS_BOTH = 3 };

struct memory_block {
        enum memory_kind kind;
        CUdeviceptr base;
        uint64_t bytes;         /* as asked for */
        CUdevice device;        /* owner; CU_DEVICE_CPU for host memory */
        CUcontext context;      /* the context that made it; NULL for VMM and pools */
        uint64_t id;            /* CU_POINTER_ATTRIBUTE_BUFFER_ID, unique in the process */
        unsigned flags;         /* host flags, or managed attach flags */
        CUmemoryPool pool;      /* MEMORY_POOL */
        uint64_t counted_bytes; /* for the block alone: MEMORY_DEVICE; 0 in a slab */
        unsigned access; /* enum memory_access of the owner, or of `access_device` when asked */
};

/* Describes the memory at an address; false (kind MEMORY_NONE) if it is unknown. */
bool memory_find(CUdeviceptr address, struct memory_block *ret);

/*
 * Whether `device` may access all the bytes. SUCCESS, or ILLEGAL_ADDRESS (for asynchronous work the
 * caller poisons the context; at the call it answers INVALID_VALUE). Managed, pinned and registered
 * memory is open to all devices; another device's memory needs peer access enabled in `context`, or
 * the access list of its pool or mapping.
 */
CUresult memory_check(CUcontext context, CUdeviceptr address, uint64_t bytes, unsigned access);

/*
 * A thread of the device checks an address and touches the bytes between these two: until then
 * cuMemUnmap and cuMemSetAccess of other threads wait. Nothing in between may wait for modelled
 * time.
 */
void memory_touch_begin(void);
void memory_touch_end(void);

/* Whether it lies in reserved addresses that are no longer mapped, or closed to `context`. For work
 * that takes time, at its end. */
bool memory_is_unmapped(CUcontext context, CUdeviceptr address, uint64_t bytes, unsigned access);

/* Whether all of it is pinned, registered or managed host memory, so that an async copy is
 * asynchronous. */
bool memory_is_pinned(const void *address, uint64_t bytes);

/* A managed block moves to its device, or away. Does nothing if managed memory counts from its
 * allocation on (except with grants=real). */
void memory_managed_move(CUdeviceptr base, bool is_to_device);

/* Memory for the execution side: module images and globals, counted as FAMILY_MODULE. */
CUresult memory_module_alloc(CUcontext context, uint64_t bytes, CUdeviceptr *ret_address);
void memory_module_free(CUdeviceptr address);

/*
 * Graph memory nodes. The address is fixed when the node is made; memory backs it from commit (the
 * node executes) to decommit (a free node or cuMemFree executes, or the graph is destroyed).
 *
 * The device's graph reservation grows at a launch or an upload (memory_graph_map()), which returns
 * OUT_OF_MEMORY if it cannot, and never while a graph runs (CUDA C++ Programming Guide, "Graph
 * Memory Nodes", "First Launch"; measured).
 */
CUresult memory_graph_reserve(CUdevice device, uint64_t bytes, CUdeviceptr *ret_address);
uint64_t memory_graph_bytes(CUdeviceptr address, unsigned *ret_unit);
CUresult memory_graph_commit(CUdeviceptr address);
CUresult memory_graph_decommit(CUdeviceptr address);
bool memory_graph_is_committed(CUdeviceptr address);
void memory_graph_unreserve(CUdeviceptr address);

/* An unfinished launch, by unit: the memory that it leaves allocated, and the maximum that it uses
 * beyond that. Launches of one stream use the latter in turns, launches of several streams at the
 * same time. Owned by the caller until memory_graph_unmap(). */
struct graph_mapping {
        const void *stream;
        uint64_t lasting_bytes[SIM_DEVICES], passing_bytes[SIM_DEVICES];
        struct graph_mapping *next;
};

CUresult memory_graph_map(struct graph_mapping *mapping);
void memory_graph_unmap(struct graph_mapping *mapping);
/* The launch is over; a committed block stays allocated. */
void memory_graph_leave(CUdeviceptr address);

/* Call after a wait for a stream, event or context: pools return unused memory. */
void memory_synchronized(CUdevice device);

/* Ends everything a context owns, when it is destroyed. */
void memory_context_close(CUcontext context);

/* Arrays: what copies and surfaces need. Rows lie `pitch_bytes` apart, slices pitch x height. */
#define ARRAY_MAGIC 0x41727279u
struct CUarray_st {
        uint32_t magic; /* ARRAY_MAGIC, first; 0 when destroyed */
        CUDA_ARRAY3D_DESCRIPTOR descriptor;
        CUdeviceptr data;
        uint64_t element_bytes; /* all channels */
        uint64_t pitch_bytes;
        uint64_t height, depth; /* at least 1; layers and faces count as depth */
        uint64_t bytes;         /* granted */
        CUcontext context;
        struct CUmipmappedArray_st
                *mipmap; /* the mipmapped array of which this is a level, or NULL */
};

/* INVALID_HANDLE unless it is a live array. */
CUresult array_check(CUarray array);

/* A card has one locality domain, which is all of it: the driver then treats both as the same, also
 * in its answers. Any other domain is left as it is. */
static inline CUmemLocation location_plain(CUmemLocation location)
{
        if (location.type == CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN &&
            location.localized.localityDomainId == 0)
                return (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_DEVICE,
                                        .id = location.localized.deviceId };
        return location;
}

#endif
