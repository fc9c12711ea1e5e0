/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Charges memory from virtual memory management. It lives until its last handle and its last
 * mapping are gone.
 *
 * An allocation is counted by its handles (cuMemCreate, cuMemRetainAllocationHandle, each import)
 * and its mappings. Its charge is kept under a number of our own, not under the driver's handle,
 * because the driver may reuse the handle's value while an old mapping still exists.
 *
 *      vmm_handles   handle value -> allocation; kept while the allocation lives, so that a
 *                    retained handle of a mapping finds it again
 *      vmm_mappings  start address -> allocation and length
 *
 * Every change that can end an allocation is made before the driver is called, and undone if the
 * driver refuses. So no thread finds an allocation that has half ended. Only memory on a device is
 * charged, to that device (the id in the location; the driver refuses an invalid one).
 */
#include "shim/cuda/memory/vmm.h"
#include "shim/cuda/stream/access.h"
#include "shim/cuda/stream/ask.h"

#include "shim/cuda/charge/import.h"
#include "shim/cuda/charge/reserve.h"
#include "shim/cuda/driver/hooks.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/place/front.h"
#include "shim/cuda/state/mappings.h"
#include "shim/cuda/swap/block.h"

/* Memory from cuMemCreate or from an imported handle. Guarded by vmm_lock. */
struct vmm_allocation {
        struct table_link link; /* key: the handle seen last */
        uint64_t number;        /* key of its charge or import, in SPACE_HANDLE */
        uint64_t handles;
        uint64_t mappings;
        uint64_t calls; /* calls that use the allocation while the driver works */
        bool is_imported;
};

/* A mapping at an address, or memory mapped into a sparse array. Guarded by vmm_lock. */
struct vmm_mapping {
        /* Key: address of the mapping, or handle of a sparse array. */
        struct table_link link;
        struct vmm_allocation *allocation; /* NULL: memory that is not charged here */
        struct vmm_mapping *next;          /* next in the list that mappings_take() returns */
        /* 0: the entry stands for memory mapped into a sparse array. */
        uint64_t bytes;
};

/* Ends an allocation without handles, mappings or calls. The caller holds vmm_lock. */
static void end_if_unused(struct vmm_allocation *allocation)
{
        struct charge charge;
        struct memory_import *import;

        if (!allocation || allocation->handles || allocation->mappings || allocation->calls)
                return;
        while ((import = import_take(SPACE_HANDLE, allocation->number)))
                import_end(import);
        charge_take(&charge, SPACE_HANDLE, allocation->number);
        import_unexport(SPACE_HANDLE, allocation->number, &charge);
        charge_drop(&charge);
        table_remove(&mapping_state.vmm_handles, allocation);
        table_free(&mapping_state.vmm_handles, allocation);
}

/* Returns a new allocation that is not in the table; NULL: out of memory. */
static struct vmm_allocation *allocation_make(void)
{
        struct vmm_allocation *allocation;

        lock_take(&mapping_state.vmm_lock);
        allocation = table_make(&mapping_state.vmm_handles, sizeof(*allocation));
        if (allocation) {
                allocation->number = ++mapping_state.vmm_last_id;
                allocation->handles = 1;
        }
        lock_drop(&mapping_state.vmm_lock);
        return allocation;
}

static void allocation_put(struct vmm_allocation *allocation, CUmemGenericAllocationHandle handle)
{
        lock_take(&mapping_state.vmm_lock);
        allocation->link.key = handle;
        table_put(&mapping_state.vmm_handles, allocation);
        lock_drop(&mapping_state.vmm_lock);
}

static void allocation_unmake(struct vmm_allocation *allocation)
{
        lock_take(&mapping_state.vmm_lock);
        table_free(&mapping_state.vmm_handles, allocation);
        lock_drop(&mapping_state.vmm_lock);
}

/* Returns the place to charge. Memory of an unknown kind of location is charged to the current
 * device, where it will probably be used. */
static struct place place_of_location(const CUmemLocation *location)
{
        struct place elsewhere = { .row = CHARGE_NO_DEVICE, .device = -1 };
        CUdevice device;

        switch (site_of(location, &device)) {
        case SITE_CARD:
                return place_of_device(device);
        case SITE_ELSEWHERE:
                return elsewhere;
        default:
                return place_here();
        }
}

CUresult hook_cuMemCreate(CUmemGenericAllocationHandle *ret, size_t bytes,
                          const CUmemAllocationProp *prop, unsigned long long flags)
{
        scoped_access const struct credit *access = access_scope();
        struct vmm_allocation *allocation;
        struct charge charge;
        unsigned attempt = 0;
        CUresult rc;

        if (!ret || !prop || !front_is_on())
                return real.cuMemCreate(ret, bytes, prop, flags);
        rc = reserve_at(&charge, place_of_location(&prop->location), bytes);
        if (rc != CUDA_SUCCESS)
                return rc;
        allocation = allocation_make();
        if (!allocation)
                return settle(&charge, CUDA_ERROR_OUT_OF_MEMORY, SPACE_HANDLE, 0);
        do
                rc = real.cuMemCreate(ret, bytes, prop, flags);
        while (is_draining(&charge, rc, &attempt));
        if (rc != CUDA_SUCCESS) {
                allocation_unmake(allocation);
                return settle(&charge, rc, SPACE_HANDLE, 0);
        }
        settle(&charge, rc, SPACE_HANDLE, allocation->number);
        allocation_put(allocation, *ret);
        return rc;
}

/* Finds the allocation of a handle, and keeps it alive until let_go(). NULL: not ours. */
static struct vmm_allocation *hold_allocation(CUmemGenericAllocationHandle handle)
{
        struct vmm_allocation *allocation;

        lock_take(&mapping_state.vmm_lock);
        allocation = table_find(&mapping_state.vmm_handles, handle);
        if (allocation)
                allocation->calls++;
        lock_drop(&mapping_state.vmm_lock);
        return allocation;
}

static void let_go(struct vmm_allocation *allocation, int more_handles)
{
        if (!allocation)
                return;
        lock_take(&mapping_state.vmm_lock);
        allocation->calls--;
        allocation->handles += (uint64_t)(int64_t)more_handles;
        end_if_unused(allocation);
        lock_drop(&mapping_state.vmm_lock);
}

/* The count is lowered before the driver call, because afterwards another allocation may get the
 * same handle value. */
CUresult hook_cuMemRelease(CUmemGenericAllocationHandle handle)
{
        scoped_access const struct credit *access = access_scope();
        struct vmm_allocation *allocation;
        CUresult rc;

        lock_take(&mapping_state.vmm_lock);
        allocation = table_find(&mapping_state.vmm_handles, handle);
        while (allocation && !allocation->handles)
                allocation = table_next(allocation);
        if (allocation) {
                allocation->handles--;
                allocation->calls++;
        }
        lock_drop(&mapping_state.vmm_lock);
        rc = real.cuMemRelease(handle);
        let_go(allocation, rc == CUDA_SUCCESS ? 0 : 1);
        return rc;
}

/* Returns one more handle of the allocation that is mapped at `address`; its value may be a new
 * one. */
CUresult hook_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *ret, void *address)
{
        scoped_access const struct credit *access = access_scope();
        CUresult rc = swap_meets(key_of(address), 1)
                              ? CUDA_ERROR_INVALID_VALUE
                              : real.cuMemRetainAllocationHandle(ret, address);
        struct vmm_allocation *allocation;
        struct vmm_mapping *mapping;

        if (rc != CUDA_SUCCESS || !front_is_on())
                return rc;
        lock_take(&mapping_state.vmm_lock);
        mapping = table_find(&mapping_state.vmm_mappings, key_of(address));
        allocation = mapping ? mapping->allocation : NULL;
        if (!allocation)
                allocation = table_find(&mapping_state.vmm_handles, *ret);
        if (allocation && allocation->link.key != *ret) {
                table_remove(&mapping_state.vmm_handles, allocation);
                allocation->link.key = *ret;
                table_put(&mapping_state.vmm_handles, allocation);
        }
        if (allocation)
                allocation->handles++;
        lock_drop(&mapping_state.vmm_lock);
        return rc;
}

static struct vmm_mapping *mapping_make(void)
{
        struct vmm_mapping *mapping;

        lock_take(&mapping_state.vmm_lock);
        mapping = table_make(&mapping_state.vmm_mappings, sizeof(*mapping));
        lock_drop(&mapping_state.vmm_lock);
        return mapping;
}

/* Stores a new mapping, or drops it if the driver failed. A mapping of memory that is not charged
 * here (a multicast object) is stored too, because mappings_take() steps from one mapping to the
 * next. */
static void mapping_settle(struct vmm_mapping *mapping, struct vmm_allocation *allocation,
                           CUresult rc)
{
        lock_take(&mapping_state.vmm_lock);
        if (rc == CUDA_SUCCESS) {
                mapping->allocation = allocation;
                table_put(&mapping_state.vmm_mappings, mapping);
                if (allocation)
                        allocation->mappings++;
        } else {
                table_free(&mapping_state.vmm_mappings, mapping);
        }
        lock_drop(&mapping_state.vmm_lock);
        let_go(allocation, 0);
}

static struct place place_of_handle(CUmemGenericAllocationHandle handle)
{
        CUmemAllocationProp prop;

        if (real.cuMemGetAllocationPropertiesFromHandle(&prop, handle) != CUDA_SUCCESS)
                return place_here();
        return place_of_location(&prop.location);
}

/* Raises the charge of an import to the extent of a new mapping, because an imported handle does
 * not show the size of its memory. */
static CUresult grow_import(struct import_growth *ret, const struct vmm_allocation *allocation,
                            CUmemGenericAllocationHandle handle, uint64_t bytes)
{
        *ret = (struct import_growth){ .import = NULL };
        if (!allocation || !allocation->is_imported)
                return CUDA_SUCCESS;
        return import_grow(ret, import_find(SPACE_HANDLE, allocation->number),
                           place_of_handle(handle), bytes);
}

/* Returns the end of the range; UINT64_MAX, which is larger than any limit, if it overflows. */
static uint64_t range_end(uint64_t offset, uint64_t bytes)
{
        return offset + bytes < offset ? UINT64_MAX : offset + bytes;
}

CUresult hook_cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                       CUmemGenericAllocationHandle handle, unsigned long long flags)
{
        scoped_access const struct credit *access = access_scope();
        struct vmm_allocation *allocation;
        struct vmm_mapping *mapping;
        struct import_growth growth;
        CUresult rc;

        if (!front_is_on())
                return real.cuMemMap(address, bytes, offset, handle, flags);
        if (swap_meets(address, bytes))
                return CUDA_ERROR_INVALID_VALUE;
        mapping = mapping_make();
        if (!mapping)
                return CUDA_ERROR_OUT_OF_MEMORY;
        mapping->link.key = address;
        mapping->bytes = bytes;
        allocation = hold_allocation(handle);
        rc = grow_import(&growth, allocation, handle, range_end(offset, bytes));
        if (rc == CUDA_SUCCESS)
                rc = import_settle(&growth, real.cuMemMap(address, bytes, offset, handle, flags));
        mapping_settle(mapping, allocation, rc);
        return rc;
}

/* Removes the mappings that fill the range and returns them as a list. The caller holds
 * vmm_lock. */
static struct vmm_mapping *mappings_take(uint64_t address, uint64_t bytes)
{
        struct vmm_mapping *list = NULL;
        struct vmm_mapping *mapping;

        for (uint64_t at = address; at - address < bytes;) {
                mapping = table_find(&mapping_state.vmm_mappings, at);
                if (!mapping || !mapping->bytes)
                        break;
                table_remove(&mapping_state.vmm_mappings, mapping);
                mapping->next = list;
                list = mapping;
                at += mapping->bytes;
        }
        return list;
}

static void mappings_settle(struct vmm_mapping *list, CUresult rc)
{
        for (struct vmm_mapping *next; list; list = next) {
                struct vmm_allocation *allocation = list->allocation;

                next = list->next;
                if (rc != CUDA_SUCCESS) {
                        table_put(&mapping_state.vmm_mappings, list);
                        continue;
                }
                table_free(&mapping_state.vmm_mappings, list);
                if (allocation)
                        allocation->mappings--;
                end_if_unused(allocation);
        }
}

CUresult hook_cuMemUnmap(CUdeviceptr address, size_t bytes)
{
        scoped_access const struct credit *access = access_scope();
        struct vmm_mapping *list;
        CUresult rc;

        if (swap_meets(address, bytes))
                return CUDA_ERROR_INVALID_VALUE;
        lock_take(&mapping_state.vmm_lock);
        list = mappings_take(address, bytes);
        lock_drop(&mapping_state.vmm_lock);
        rc = real.cuMemUnmap(address, bytes);
        lock_take(&mapping_state.vmm_lock);
        mappings_settle(list, rc);
        lock_drop(&mapping_state.vmm_lock);
        return rc;
}

/* Keeps the memory mapped into sparse arrays alive until the array is destroyed, because the driver
 * does not report when an array releases it earlier. */
static void pin_tiles(const CUarrayMapInfo *maps, unsigned count)
{
        for (unsigned i = 0; i < count; i++) {
                const CUarrayMapInfo *map = &maps[i];
                struct vmm_mapping *mapping;

                if (map->memOperationType != CU_MEM_OPERATION_TYPE_MAP)
                        continue;
                mapping = mapping_make();
                if (!mapping)
                        continue;
                mapping->link.key = map->resourceType == CU_RESOURCE_TYPE_ARRAY
                                            ? key_of(map->resource.array)
                                            : key_of(map->resource.mipmap);
                mapping_settle(mapping, hold_allocation(map->memHandle.memHandle), CUDA_SUCCESS);
        }
}

struct tiles tiles_begin(const CUarrayMapInfo *maps, unsigned count)
{
        access_begin();
        return (struct tiles){ maps, count };
}

CUresult tiles_end(const struct tiles *tiles, CUresult rc)
{
        if (rc == CUDA_SUCCESS && front_is_on())
                pin_tiles(tiles->maps, tiles->count);
        return access_end(rc);
}

void vmm_array_gone(uint64_t array)
{
        struct vmm_mapping *mapping;

        lock_take(&mapping_state.vmm_lock);
        while ((mapping = table_find(&mapping_state.vmm_mappings, array)) && !mapping->bytes) {
                table_remove(&mapping_state.vmm_mappings, mapping);
                mapping->next = NULL;
                mappings_settle(mapping, CUDA_SUCCESS);
        }
        lock_drop(&mapping_state.vmm_lock);
}

/* Returns the name of exported memory, which is the same in every process (import.h). */
static uint64_t share_name(const void *shareable, CUmemAllocationHandleType type)
{
        if (type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
                return import_name_fd(*(const int *)shareable);
        if (type == CU_MEM_HANDLE_TYPE_FABRIC)
                return import_name_fabric(shareable, sizeof(CUmemFabricHandle));
        return 0;
}

CUresult hook_cuMemExportToShareableHandle(void *ret, CUmemGenericAllocationHandle handle,
                                           CUmemAllocationHandleType type, unsigned long long flags)
{
        struct vmm_allocation *allocation = front_is_on() ? hold_allocation(handle) : NULL;
        CUresult rc = real.cuMemExportToShareableHandle(ret, handle, type, flags);

        if (rc == CUDA_SUCCESS && allocation)
                import_export(share_name(ret, type), SPACE_HANDLE, allocation->number);
        let_go(allocation, 0);
        return rc;
}

/* Returns the name of memory to import. A descriptor is passed as a number in the pointer's
 * place. */
static uint64_t imported_name(void *shareable, CUmemAllocationHandleType type)
{
        if (type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
                return import_name_fd((int)(intptr_t)shareable);
        if (type == CU_MEM_HANDLE_TYPE_FABRIC && shareable)
                return import_name_fabric(shareable, sizeof(CUmemFabricHandle));
        return 0;
}

/* Whether the driver returned a handle that is known already, which needs no further charge. Counts
 * the handle. */
static bool is_again(CUmemGenericAllocationHandle handle)
{
        struct vmm_allocation *allocation;

        lock_take(&mapping_state.vmm_lock);
        allocation = table_find(&mapping_state.vmm_handles, handle);
        if (allocation)
                allocation->handles++;
        lock_drop(&mapping_state.vmm_lock);
        return allocation != NULL;
}

/* Stores an imported handle. `import` is kept with the allocation, or ended. */
static CUresult settle_import(CUmemGenericAllocationHandle handle, uint64_t name,
                              struct memory_import *import)
{
        uint64_t bytes = import_bytes_known(name);
        struct import_growth growth;
        struct vmm_allocation *allocation;
        CUresult rc = CUDA_SUCCESS;

        if (is_again(handle)) {
                import_end(import);
                return CUDA_SUCCESS;
        }
        allocation = import || session_state() != SESSION_ACTIVE ? allocation_make() : NULL;
        if (!allocation) {
                import_end(import);
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
        allocation->is_imported = true;
        import_keep(import, SPACE_HANDLE, allocation->number);
        if (bytes)
                rc = import_settle(&growth, grow_import(&growth, allocation, handle, bytes));
        if (rc == CUDA_SUCCESS) {
                allocation_put(allocation, handle);
        } else {
                import_end(import_take(SPACE_HANDLE, allocation->number));
                allocation_unmake(allocation);
        }
        return rc;
}

CUresult hook_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *ret, void *shareable,
                                             CUmemAllocationHandleType type)
{
        scoped_access const struct credit *access = access_scope();
        CUmemGenericAllocationHandle handle = 0;
        struct memory_import *announced;
        uint64_t name;
        CUresult rc;

        if (!ret || !front_is_on())
                return real.cuMemImportFromShareableHandle(ret, shareable, type);
        name = imported_name(shareable, type);
        announced = import_announce(name);
        rc = real.cuMemImportFromShareableHandle(&handle, shareable, type);
        if (rc != CUDA_SUCCESS) {
                import_end(announced);
                return rc;
        }
        rc = settle_import(handle, name, import_announce(name));
        if (rc == CUDA_SUCCESS)
                *ret = handle;
        else {
                scoped_relaxed struct relaxed was = relax();

                real.cuMemRelease(handle);
        }
        import_end(announced);
        return rc;
}
