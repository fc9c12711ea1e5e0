/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual memory management: separate functions for address space, physical memory, mappings and
 * access.
 *
 * The bytes of physical memory are in a block of the arena, its home (or, if imported, in a mapping
 * of the other process's file). A mapping maps these bytes once more, at the reserved address, and
 * allows no access until cuMemSetAccess. The memory is freed when the last handle and the last
 * mapping are gone. As in the real driver, a mapping begins at offset 0 of its handle and is
 * unmapped as a whole.
 */
#include "sim/memory/vmm.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/atomic.h"
#include "sim/context/context.h"
#include "sim/context/device.h"
#include "sim/entries.h"
#include "sim/memory/families.h"
#include "sim/memory/ranges.h"
#include "sim/node/share.h"

/* The table of handles, guarded by vmm_lock. A handle has the slot's index in its low half and the
 * generation in its high half. */
static pthread_mutex_t vmm_lock = PTHREAD_MUTEX_INITIALIZER;
static struct slot {
        struct physical *physical; /* NULL: the slot is free */
        uint32_t generation;
        uint32_t next_free;
} * slots;
static uint32_t slot_count, slot_space, first_free = UINT32_MAX;

/* Takes a slot and returns its handle; 0 when there is no host memory. The caller holds
 * vmm_lock. */
static uint64_t slot_take(struct physical *physical)
{
        uint32_t index = first_free;

        if (index == UINT32_MAX) {
                if (slot_count == slot_space) {
                        uint32_t space = slot_space ? slot_space * 2 : 64;
                        struct slot *grown = realloc(slots, space * sizeof(*grown));

                        if (!grown)
                                return 0;
                        slots = grown;
                        slot_space = space;
                }
                index = slot_count++;
                slots[index].generation = 0;
        } else {
                first_free = slots[index].next_free;
        }
        slots[index].physical = physical;
        slots[index].generation++;
        return ((uint64_t)slots[index].generation << 32) | index;
}

/* Returns the physical memory of a handle, or NULL. The caller holds vmm_lock. */
static struct physical *physical_of(uint64_t handle)
{
        uint32_t index = (uint32_t)handle;

        if (index >= slot_count || slots[index].generation != handle >> 32)
                return NULL;
        return slots[index].physical;
}

static void physical_end(struct physical *physical)
{
        if (physical->is_imported) {
                munmap((void *)(uintptr_t)physical->home, physical->bytes);
                share_close(physical->share);
        } else {
                home_end(physical->unit, FAMILY_VMM,
                         &(struct memory_home){ physical->home, physical->bytes, physical->share });
        }
        free(physical);
}

/* Frees the physical memory if it has no references and no mappings. The caller holds vmm_lock. */
static void physical_settle(struct physical *physical)
{
        uint32_t index = (uint32_t)physical->handle;

        if (physical->references > 0 || physical->mappings > 0)
                return;
        slots[index].physical = NULL;
        slots[index].next_free = first_free;
        first_free = index;
        physical_end(physical);
}

/* Gives the physical memory a handle, or frees it if there is no slot for one. */
static CUresult physical_publish(struct physical *physical, CUmemGenericAllocationHandle *ret)
{
        pthread_mutex_lock(&vmm_lock);
        uint64_t handle = slot_take(physical);
        physical->handle = handle;
        pthread_mutex_unlock(&vmm_lock);
        if (!handle) {
                physical_end(physical);
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
        *ret = handle;
        return CUDA_SUCCESS;
}

static bool location_is_device(const CUmemLocation *location)
{
        return location->type == CU_MEM_LOCATION_TYPE_DEVICE && device_is_valid(location->id);
}

/* Checks and copies the requested properties; a locality domain becomes its device. */
static CUresult prop_take(const CUmemAllocationProp *asked, CUmemAllocationProp *prop)
{
        if (!asked)
                return CUDA_ERROR_INVALID_VALUE;
        *prop = *asked;
        prop->location = location_plain(asked->location);
        if (prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
                return CUDA_ERROR_INVALID_VALUE;
        if (prop->location.type == CU_MEM_LOCATION_TYPE_HOST ||
            prop->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
            prop->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT)
                return CUDA_ERROR_NOT_SUPPORTED;
        if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
                return CUDA_ERROR_INVALID_VALUE;
        if (!location_is_device(&prop->location))
                return CUDA_ERROR_INVALID_DEVICE;
        if (prop->requestedHandleTypes & ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
                return CUDA_ERROR_NOT_SUPPORTED;
        return CUDA_SUCCESS;
}

CUresult sim_cuMemGetAllocationGranularity(size_t *ret, const CUmemAllocationProp *prop,
                                           CUmemAllocationGranularity_flags option)
{
        if (!ret || (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
                     option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
                return CUDA_ERROR_INVALID_VALUE;
        CUmemAllocationProp plain;
        CUresult result = prop_take(prop, &plain);
        if (result == CUDA_SUCCESS)
                *ret = VMM_GRANULARITY;
        return result;
}

CUresult sim_cuMemCreate(CUmemGenericAllocationHandle *ret, size_t bytes,
                         const CUmemAllocationProp *asked, unsigned long long flags)
{
        CUmemAllocationProp prop;

        if (!ret || flags != 0 || bytes == 0 || bytes % VMM_GRANULARITY != 0)
                return CUDA_ERROR_INVALID_VALUE;
        CUresult result = prop_take(asked, &prop);
        if (result != CUDA_SUCCESS)
                return result;
        if (load_acquire(&device_node(prop.location.id)->is_lost))
                return CUDA_ERROR_DEVICE_UNAVAILABLE;
        struct physical *physical = calloc(1, sizeof(*physical));
        if (!physical)
                return CUDA_ERROR_OUT_OF_MEMORY;
        physical->unit = device_unit(prop.location.id);
        physical->bytes = bytes;
        physical->prop = prop;
        physical->references = 1;
        physical->id = block_next_id();
        result = home_make(physical->unit, FAMILY_VMM, bytes, &physical->home);
        if (result != CUDA_SUCCESS) {
                free(physical);
                return result;
        }
        result = physical_publish(physical, ret);
        if (result == CUDA_SUCCESS)
                vmm_spend(VMM_CREATE, bytes);
        return result;
}

CUresult sim_cuMemRelease(CUmemGenericAllocationHandle handle)
{
        CUresult result = CUDA_ERROR_INVALID_VALUE;
        uint64_t bytes = 0;

        pthread_mutex_lock(&vmm_lock);
        struct physical *physical = physical_of(handle);
        if (physical && physical->references > 0) {
                bytes = physical->bytes;
                physical->references--;
                physical_settle(physical);
                result = CUDA_SUCCESS;
        }
        pthread_mutex_unlock(&vmm_lock);
        if (result == CUDA_SUCCESS)
                vmm_spend(VMM_RELEASE, bytes);
        return result;
}

CUresult sim_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *ret, void *address)
{
        CUresult result = CUDA_ERROR_INVALID_VALUE;

        pthread_mutex_lock(&vmm_lock);
        pthread_mutex_lock(&ranges_lock);
        struct range *range = range_find(&mapped_ranges, (CUdeviceptr)(uintptr_t)address);
        if (range) {
                struct physical *physical = range->owner;

                physical->references++;
                *ret = physical->handle;
                result = CUDA_SUCCESS;
        }
        pthread_mutex_unlock(&ranges_lock);
        pthread_mutex_unlock(&vmm_lock);
        return result;
}

CUresult sim_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *ret,
                                                    CUmemGenericAllocationHandle handle)
{
        CUresult result = CUDA_ERROR_INVALID_VALUE;

        pthread_mutex_lock(&vmm_lock);
        struct physical *physical = physical_of(handle);
        if (physical) {
                *ret = physical->prop;
                result = CUDA_SUCCESS;
        }
        pthread_mutex_unlock(&vmm_lock);
        return result;
}

/* Returns whether the addresses are reserved, free of mappings, and long enough. The caller holds
 * vmm_lock and ranges_lock. */
static bool is_room_for_mapping(CUdeviceptr address, uint64_t bytes)
{
        struct range *outer = range_find(&outer_ranges, address);
        struct range *next = range_find_from(&mapped_ranges, address);

        return outer && outer->kind == MEMORY_RESERVED && bytes <= outer->end - address &&
               (!next || next->start >= address + bytes);
}

static CUresult map(CUdeviceptr address, uint64_t bytes, struct physical *physical)
{
        struct range *range = calloc(1, sizeof(*range));
        void *at = (void *)(uintptr_t)address;

        if (!range)
                return CUDA_ERROR_OUT_OF_MEMORY;
        if (!is_room_for_mapping(address, bytes)) {
                free(range);
                return CUDA_ERROR_INVALID_VALUE;
        }
        /* With an old size of 0, mremap() maps the same shared pages a second time instead of
         * moving them. */
        if (mremap((void *)(uintptr_t)physical->home, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                   at) == MAP_FAILED ||
            mprotect(at, bytes, PROT_NONE) < 0) {
                free(range);
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
        range->start = address;
        range->end = address + bytes;
        range->kind = MEMORY_VMM;
        range->device = device_of_unit(physical->unit);
        range->id = physical->id;
        range->flags = physical->prop.requestedHandleTypes;
        range->owner = physical;
        range_insert(&mapped_ranges, range);
        physical->mappings++;
        return CUDA_SUCCESS;
}

CUresult sim_cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                      CUmemGenericAllocationHandle handle, unsigned long long flags)
{
        CUresult result = CUDA_ERROR_INVALID_VALUE;

        if (flags != 0 || offset != 0 || bytes == 0 || bytes % VMM_GRANULARITY != 0 ||
            address % VMM_GRANULARITY != 0)
                return CUDA_ERROR_INVALID_VALUE;
        pthread_mutex_lock(&vmm_lock);
        pthread_mutex_lock(&ranges_lock);
        struct physical *physical = physical_of(handle);
        if (physical && physical->references > 0 && bytes <= physical->bytes)
                result = map(address, bytes, physical);
        pthread_mutex_unlock(&ranges_lock);
        pthread_mutex_unlock(&vmm_lock);
        if (result == CUDA_SUCCESS)
                vmm_spend(VMM_MAP, bytes);
        return result;
}

/* Returns whether mappings cover [address, end) without a gap, and none extends beyond it. The
 * caller holds ranges_lock. */
static bool is_covered(CUdeviceptr address, CUdeviceptr end)
{
        while (address < end) {
                const struct range *range = range_find(&mapped_ranges, address);

                if (!range || range->start != address || range->end > end)
                        return false;
                address = range->end;
        }
        return true;
}

CUresult sim_cuMemUnmap(CUdeviceptr address, size_t bytes)
{
        CUresult result = CUDA_ERROR_INVALID_VALUE;
        CUdeviceptr end = address + bytes;

        if (bytes == 0 || end < address)
                return CUDA_ERROR_INVALID_VALUE;
        mapping_change_begin();
        pthread_mutex_lock(&vmm_lock);
        pthread_mutex_lock(&ranges_lock);
        if (is_covered(address, end) &&
            mmap((void *)(uintptr_t)address, bytes, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED) {
                while (address < end) {
                        struct range *range = range_find(&mapped_ranges, address);
                        struct physical *physical = range->owner;

                        address = range->end;
                        range_remove(&mapped_ranges, range);
                        free(range);
                        physical->mappings--;
                        physical_settle(physical);
                }
                result = CUDA_SUCCESS;
        }
        pthread_mutex_unlock(&ranges_lock);
        pthread_mutex_unlock(&vmm_lock);
        mapping_change_end();
        if (result == CUDA_SUCCESS)
                vmm_spend(VMM_UNMAP, bytes);
        return result;
}

static CUresult access_check(const CUmemAccessDesc *access)
{
        if (access->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
            access->flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
            access->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
                return CUDA_ERROR_INVALID_VALUE;
        if (access->location.type == CU_MEM_LOCATION_TYPE_HOST)
                return CUDA_ERROR_NOT_SUPPORTED;
        if (access->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
                return CUDA_ERROR_INVALID_VALUE;
        return device_is_valid(access->location.id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

/* Sets which devices may access a mapping. Its pages are opened for the most that any device may
 * do. The caller holds ranges_lock. */
static CUresult access_apply(struct range *range, const CUmemAccessDesc *access, size_t count)
{
        uint32_t reads = range->read_mask, writes = range->write_mask;

        for (size_t i = 0; i < count; i++) {
                uint32_t bit = 1u << access[i].location.id;

                reads &= ~bit;
                writes &= ~bit;
                if (access[i].flags & CU_MEM_ACCESS_FLAGS_PROT_READ)
                        reads |= bit;
                if (access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
                        writes |= bit;
        }
        int protection = writes ? PROT_READ | PROT_WRITE : (reads ? PROT_READ : PROT_NONE);
        if (mprotect((void *)(uintptr_t)range->start, range->end - range->start, protection) < 0)
                return CUDA_ERROR_OUT_OF_MEMORY;
        range->read_mask = reads;
        range->write_mask = writes;
        return CUDA_SUCCESS;
}

CUresult sim_cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *access,
                            size_t count)
{
        CUresult result = CUDA_SUCCESS;
        CUdeviceptr end = address + bytes;

        if (!access || count == 0 || bytes == 0 || end < address)
                return CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
                result = access_check(&access[i]);
        if (result != CUDA_SUCCESS)
                return result;
        mapping_change_begin();
        pthread_mutex_lock(&ranges_lock);
        if (!is_covered(address, end))
                result = CUDA_ERROR_INVALID_VALUE;
        while (result == CUDA_SUCCESS && address < end) {
                struct range *range = range_find(&mapped_ranges, address);

                result = access_apply(range, access, count);
                address = range->end;
        }
        pthread_mutex_unlock(&ranges_lock);
        mapping_change_end();
        if (result == CUDA_SUCCESS)
                vmm_spend(VMM_ACCESS, bytes);
        return result;
}

CUresult sim_cuMemGetAccess(unsigned long long *ret, const CUmemLocation *location,
                            CUdeviceptr address)
{
        CUresult result = CUDA_ERROR_INVALID_VALUE;

        if (!ret || !location || location->type != CU_MEM_LOCATION_TYPE_DEVICE)
                return CUDA_ERROR_INVALID_VALUE;
        if (!device_is_valid(location->id))
                return CUDA_ERROR_INVALID_DEVICE;
        pthread_mutex_lock(&ranges_lock);
        const struct range *range = range_find(&mapped_ranges, address);
        if (range) {
                uint32_t bit = 1u << location->id;

                *ret = range->write_mask & bit  ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                       : range->read_mask & bit ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                                : CU_MEM_ACCESS_FLAGS_PROT_NONE;
                result = CUDA_SUCCESS;
        }
        pthread_mutex_unlock(&ranges_lock);
        return result;
}

CUresult sim_cuMemExportToShareableHandle(void *ret, CUmemGenericAllocationHandle handle,
                                          CUmemAllocationHandleType type, unsigned long long flags)
{
        CUresult result = CUDA_ERROR_INVALID_VALUE;

        if (!ret || flags != 0)
                return CUDA_ERROR_INVALID_VALUE;
        if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
                return CUDA_ERROR_NOT_SUPPORTED;
        pthread_mutex_lock(&vmm_lock);
        struct physical *physical = physical_of(handle);
        if (physical && physical->references > 0 &&
            (physical->prop.requestedHandleTypes & (unsigned)type)) {
                struct share_plan plan = { .device = physical->unit,
                                           .family = FAMILY_VMM,
                                           .counted_bytes = physical->bytes,
                                           .length = physical->bytes };

                plan.fd = arena_file(physical->home, &plan.offset);
                if (!physical->share)
                        physical->share = share_make(&plan);
                int exported = physical->share ? share_descriptor(physical->share) : -1;
                if (exported >= 0)
                        *(int *)ret = exported;
                result = exported >= 0 ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
        }
        pthread_mutex_unlock(&vmm_lock);
        return result;
}

CUresult sim_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *ret, void *os_handle,
                                            CUmemAllocationHandleType type)
{
        struct share_view view;

        if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
                return CUDA_ERROR_NOT_SUPPORTED;
        uint64_t id = share_of_descriptor((int)(intptr_t)os_handle);
        if (!id || share_open(id, false, &view) != SHARE_OK)
                return CUDA_ERROR_INVALID_VALUE;
        struct physical *physical = calloc(1, sizeof(*physical));
        void *home = mmap(NULL, view.length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                          view.fd, (off_t)view.offset);
        close(view.fd);
        CUdevice device = device_of_unit(view.device);
        if (!physical || home == MAP_FAILED || device < 0) {
                free(physical);
                if (home != MAP_FAILED)
                        munmap(home, view.length);
                share_close(id);
                return device < 0 ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_OUT_OF_MEMORY;
        }
        madvise(home, view.length, MADV_DONTFORK);
        physical->unit = view.device;
        physical->bytes = view.length;
        physical->home = (CUdeviceptr)(uintptr_t)home;
        physical->prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        physical->prop.requestedHandleTypes = type;
        physical->prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        physical->prop.location.id = device;
        physical->is_imported = true;
        physical->share = id;
        physical->references = 1;
        physical->id = block_next_id();
        return physical_publish(physical, ret);
}
