/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the memory at an address, and checks accesses to it.
 *
 * Device memory is host memory at the same address, so code that executes a copy or a kernel checks
 * the address with these functions and then uses it as a pointer. memory_check() is the rule of
 * access: every byte in [address, address + bytes) belongs to live, mapped memory that allows the
 * access from that device. None of the functions reads or writes the bytes.
 *
 * Blocks are described by value, as a snapshot. The caller must not free the memory while it uses
 * it; a program that does so makes an illegal access that the model may miss.
 */
#ifndef ALIQUOT_SIM_MEMORY_MEMORY_H
#define ALIQUOT_SIM_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "sim/node/config.h"

enum memory_kind {
        MEMORY_NONE,   /* unknown address: pageable host memory, or a wrong device pointer */
        MEMORY_DEVICE, /* allocated by cuMemAlloc or cuMemAllocPitch */
        MEMORY_MANAGED,
        MEMORY_POOL,       /* allocated by cuMemAllocAsync or cuMemAllocFromPoolAsync */
        MEMORY_GRAPH,      /* allocated by a graph memory node */
        MEMORY_VMM,        /* one mapping within a reserved range */
        MEMORY_RESERVED,   /* reserved address space without a mapping */
        MEMORY_HOST,       /* allocated by cuMemHostAlloc or cuMemAllocHost */
        MEMORY_REGISTERED, /* registered with cuMemHostRegister */
        MEMORY_IMPORT,     /* memory of another process: legacy IPC, external memory */
        MEMORY_MODULE,     /* a global variable of a module */
};

enum memory_access { ACCESS_READ = 1, ACCESS_WRITE = 2, ACCESS_BOTH = 3 };

struct memory_block {
        enum memory_kind kind;
        CUdeviceptr base;
        uint64_t bytes;    /* requested size */
        CUdevice device;   /* device that owns the memory; CU_DEVICE_CPU for host memory */
        CUcontext context; /* the context that allocated it; NULL for VMM and pools */
        uint64_t id;       /* value of CU_POINTER_ATTRIBUTE_BUFFER_ID, unique in the process */
        unsigned flags;    /* flags of host memory, or attach flags of managed memory */
        CUmemoryPool pool; /* used in MEMORY_POOL */
        /* bytes counted for this block alone, in MEMORY_DEVICE; 0 for a block in a slab */
        uint64_t counted_bytes;
        /* enum memory_access: what the owning device, or the device for which the memory was
         * checked, may do */
        unsigned access;
};

/* Describes the memory at an address. False (with kind MEMORY_NONE) if the address is unknown. */
bool memory_find(CUdeviceptr address, struct memory_block *ret);

/*
 * Checks whether the device of `context` may access all the bytes. SUCCESS, or ILLEGAL_ADDRESS: for
 * asynchronous work the caller then sets the context's sticky error; a call that checks at once
 * returns INVALID_VALUE. Managed, pinned and registered memory is open to all devices. For memory
 * of another device, peer access must be enabled in `context`, or the access list of the memory's
 * pool or mapping must allow it.
 */
CUresult memory_check(CUcontext context, CUdeviceptr address, uint64_t bytes, unsigned access);

/*
 * A thread that works for the device checks an address and accesses the bytes between these two
 * calls. During that, cuMemUnmap and cuMemSetAccess of other threads wait. Therefore nothing in
 * between may wait for modelled time.
 */
void memory_touch_begin(void);
void memory_touch_end(void);

/* Returns whether any of the bytes is in reserved addresses that are no longer mapped, or not
 * accessible from `context`. For operations that take time, to be called at their end. */
bool memory_is_unmapped(CUcontext context, CUdeviceptr address, uint64_t bytes, unsigned access);

/* Returns whether all of the bytes are pinned, registered or managed host memory, which makes an
 * async copy asynchronous. */
bool memory_is_pinned(const void *address, uint64_t bytes);

/* Counts a managed block for its device, or no longer. Does nothing if managed memory counts from
 * its allocation on (which is so unless grants=real). */
void memory_managed_move(CUdeviceptr base, bool is_to_device);

/* Memory for module images and globals, counted as FAMILY_MODULE. */
CUresult memory_module_alloc(CUcontext context, uint64_t bytes, CUdeviceptr *ret_address);
void memory_module_free(CUdeviceptr address);

/*
 * Memory of graph memory nodes. The address is fixed when the node is created. There is memory
 * behind it from commit (when the node executes) to decommit (when a free node or cuMemFree
 * executes, or the graph is destroyed).
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

/* The memory of an unfinished launch, by unit: `lasting_bytes` are what the launch leaves
 * allocated, `passing_bytes` the maximum that it uses beyond that. Launches of one stream use the
 * latter one after the other, launches of several streams at the same time. Owned by the caller
 * until memory_graph_unmap(). */
struct graph_mapping {
        const void *stream;
        uint64_t lasting_bytes[SIM_DEVICES], passing_bytes[SIM_DEVICES];
        struct graph_mapping *next;
};

CUresult memory_graph_map(struct graph_mapping *mapping);
void memory_graph_unmap(struct graph_mapping *mapping);
/* Notes that the launch is over; a committed block stays allocated. */
void memory_graph_leave(CUdeviceptr address);

/* Makes pools return unused memory. Call it after a wait for a stream, event or context. */
void memory_synchronized(CUdevice device);

/* Frees everything that a context owns, when the context is destroyed. */
void memory_context_close(CUcontext context);

/* An array, as far as copies and surfaces need it. Its rows are `pitch_bytes` apart, its slices
 * pitch x height. */
#define ARRAY_MAGIC 0x41727279u
struct CUarray_st {
        uint32_t magic; /* ARRAY_MAGIC, or 0 when destroyed; must be the first field */
        CUDA_ARRAY3D_DESCRIPTOR descriptor;
        CUdeviceptr data;
        uint64_t element_bytes; /* of all channels together */
        uint64_t pitch_bytes;
        uint64_t height, depth; /* at least 1; layers and faces count as depth */
        uint64_t bytes;         /* granted bytes */
        CUcontext context;
        /* the mipmapped array of which this array is a level, or NULL */
        struct CUmipmappedArray_st *mipmap;
};

/* Checks the handle of an array. INVALID_HANDLE unless the array exists. */
CUresult array_check(CUarray array);

/* Replaces a card's locality domain 0 by the card. A card has one such domain, which is all of its
 * memory, so the driver treats both alike and returns the card. Other domains are returned
 * unchanged. */
static inline CUmemLocation location_plain(CUmemLocation location)
{
        if (location.type == CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN &&
            location.localized.localityDomainId == 0)
                return (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_DEVICE,
                                        .id = location.localized.deviceId };
        return location;
}

#endif
