/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of another process: legacy IPC handles, pointers of an imported pool, external memory.
 *
 * Each is a mapping of the other process's backing file, at an address of this process. Opening the
 * same handle again gives the same address, and needs one more close. A file that is not of this
 * node can also be imported as external memory; then all of it is counted for this process.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/context/context.h"
#include "sim/context/device.h"
#include "sim/entries.h"
#include "sim/exec/exec.h"
#include "sim/memory/families.h"
#include "sim/memory/pool.h"
#include "sim/memory/ranges.h"
#include "sim/memory/vmm.h"
#include "sim/node/share.h"

#define PAGE_BYTES 4096ULL
#define HANDLE_MAGIC 0x616c712d6d656d31ULL
#define EXTERNAL_MAGIC 0x45787465u

struct handle_text {
        uint64_t magic;
        uint64_t id;
};

/* A mapped object, to which range.owner points. ranges_lock guards the count. */
struct import {
        /* id of the object (share.h); 0: external memory from a file of no object */
        uint64_t share;
        unsigned opens;
        bool is_pool_pointer;
};

/* The exported blocks of this process, with their objects. Guarded by export_lock. */
static pthread_mutex_t export_lock = PTHREAD_MUTEX_INITIALIZER;
static struct export
{
        CUdeviceptr address;
        uint64_t share;
        struct export *next;
}
*exports;

uint64_t ipc_export_take(CUdeviceptr address)
{
        uint64_t share = 0;

        pthread_mutex_lock(&export_lock);
        for (struct export **link = &exports; *link; link = &(*link)->next) {
                struct export *entry = *link;

                if (entry->address == address) {
                        share = entry->share;
                        *link = entry->next;
                        free(entry);
                        break;
                }
        }
        pthread_mutex_unlock(&export_lock);
        return share;
}

/* Returns the object of a block, and creates it if there is none. 0 on failure. */
static uint64_t export_make(CUdeviceptr base, enum memory_kind kind, const struct share_plan *plan)
{
        struct arena_block before;
        uint64_t share = 0;

        pthread_mutex_lock(&export_lock);
        for (struct export *entry = exports; entry && !share; entry = entry->next) {
                if (entry->address == base)
                        share = entry->share;
        }
        struct export *entry = share ? NULL : calloc(1, sizeof(*entry));
        if (entry &&
            arena_set_flags(base, kind, (struct flag_change){ .set = BLOCK_EXPORTED }, &before))
                share = share_make(plan);
        if (entry && share) {
                entry->address = base;
                entry->share = share;
                entry->next = exports;
                exports = entry;
        } else {
                free(entry);
        }
        pthread_mutex_unlock(&export_lock);
        return share;
}

CUresult sim_cuIpcGetMemHandle(CUcontext context, CUipcMemHandle *ret, CUdeviceptr address)
{
        struct memory_block block;
        struct handle_text text = { .magic = HANDLE_MAGIC };

        if (!ret || !memory_find(address, &block) || block.kind != MEMORY_DEVICE)
                return CUDA_ERROR_INVALID_VALUE;
        struct share_plan plan = { .device = device_unit(block.device),
                                   .family = FAMILY_ALLOC,
                                   .counted_bytes = block.counted_bytes,
                                   .length = block.bytes };
        plan.fd = arena_file(block.base, &plan.offset);
        text.id = export_make(block.base, MEMORY_DEVICE, &plan);
        if (!text.id)
                return CUDA_ERROR_OPERATING_SYSTEM;
        memset(ret, 0, sizeof(*ret));
        memcpy(ret, &text, sizeof(text));
        return CUDA_SUCCESS;
}

static struct range *import_find(uint64_t share)
{
        struct range *range = range_find_from(&outer_ranges, 0);

        while (range) {
                const struct import *import = range->owner;

                if (range->kind == MEMORY_IMPORT && import->share == share)
                        return range;
                range = range_find_from(&outer_ranges, range->end);
        }
        return NULL;
}

/* Maps [offset, offset + bytes) of the file and adds the range. NULL on failure. */
static struct range *import_map(int fd, uint64_t offset, uint64_t bytes, struct import import)
{
        uint64_t skew = offset % PAGE_BYTES;
        struct range *range = calloc(1, sizeof(*range));
        struct import *owner = malloc(sizeof(*owner));
        char *at = mmap(NULL, bytes + skew, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
                        (off_t)(offset - skew));

        if (!range || !owner || at == MAP_FAILED) {
                free(range);
                free(owner);
                if (at != MAP_FAILED)
                        munmap(at, bytes + skew);
                return NULL;
        }
        madvise(at, bytes + skew, MADV_DONTFORK);
        *owner = import;
        range->start = (CUdeviceptr)(uintptr_t)at + skew;
        range->end = range->start + bytes;
        range->kind = MEMORY_IMPORT;
        range->id = block_next_id();
        range->owner = owner;
        range->mapped_bytes = bytes + skew;
        return range;
}

/* Returns the range with which this process maps the object; maps it if it has none. The caller
 * holds ranges_lock. */
static CUresult import_open(const struct share_view *view, const struct import *import,
                            CUcontext context, struct range **ret)
{
        CUdevice device = device_of_unit(view->device);
        struct range *range = import_find(import->share);

        if (range) {
                ((struct import *)range->owner)->opens++;
                *ret = range;
                return CUDA_SUCCESS;
        }
        if (device < 0)
                return CUDA_ERROR_INVALID_DEVICE;
        range = import_map(view->fd, view->offset, view->length, *import);
        if (!range)
                return CUDA_ERROR_MAP_FAILED;
        range->device = device;
        range->context = context;
        range_insert(&outer_ranges, range);
        *ret = range;
        return CUDA_SUCCESS;
}

static CUresult ipc_open(CUcontext context, uint64_t id, bool is_pool_pointer, CUdeviceptr *ret)
{
        const struct import import = { .share = id,
                                       .opens = 1,
                                       .is_pool_pointer = is_pool_pointer };
        struct share_view view;
        struct range *range;
        CUresult result;

        switch (share_open(id, true, &view)) {
        case SHARE_OK:
                break;
        case SHARE_OWN:
                /* the driver's error for the process that exported the memory */
                return CUDA_ERROR_INVALID_CONTEXT;
        case SHARE_FULL:
                return CUDA_ERROR_OUT_OF_MEMORY;
        default:
                return CUDA_ERROR_INVALID_VALUE;
        }
        pthread_mutex_lock(&ranges_lock);
        result = import_open(&view, &import, context, &range);
        if (result == CUDA_SUCCESS)
                *ret = range->start;
        pthread_mutex_unlock(&ranges_lock);
        close(view.fd);
        if (result != CUDA_SUCCESS)
                share_close(id);
        return result;
}

CUresult sim_cuIpcOpenMemHandle(CUcontext context, CUdeviceptr *ret, CUipcMemHandle handle,
                                unsigned int flags)
{
        struct handle_text text;

        memcpy(&text, &handle, sizeof(text));
        if (!ret || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS || text.magic != HANDLE_MAGIC)
                return CUDA_ERROR_INVALID_VALUE;
        return ipc_open(context, text.id, false, ret);
}

static void import_end(struct range *range)
{
        CUdeviceptr at = range->start / PAGE_BYTES * PAGE_BYTES;

        munmap((void *)(uintptr_t)at, range->mapped_bytes);
        free(range->owner);
        free(range);
}

/* Closes the import at `address` once, of as many times as it was opened. */
static CUresult import_close(CUdeviceptr address, bool is_pool_pointer)
{
        uint64_t share = 0;

        pthread_mutex_lock(&ranges_lock);
        struct range *range = range_find(&outer_ranges, address);
        struct import *import = range && range->kind == MEMORY_IMPORT ? range->owner : NULL;
        if (!import || range->start != address || !import->share ||
            import->is_pool_pointer != is_pool_pointer) {
                pthread_mutex_unlock(&ranges_lock);
                return CUDA_ERROR_INVALID_VALUE;
        }
        CUdevice device = range->device;
        pthread_mutex_unlock(&ranges_lock);
        exec_device_synchronize(device);
        pthread_mutex_lock(&ranges_lock);
        share = import->share;
        if (--import->opens == 0) {
                range_remove(&outer_ranges, range);
                import_end(range);
        }
        pthread_mutex_unlock(&ranges_lock);
        share_close(share);
        return CUDA_SUCCESS;
}

CUresult sim_cuIpcCloseMemHandle(CUcontext context, CUdeviceptr address)
{
        return import_close(address, false);
}

bool import_free(CUdeviceptr address)
{
        return import_close(address, true) == CUDA_SUCCESS;
}

CUresult sim_cuMemPoolExportPointer(CUmemPoolPtrExportData *ret, CUdeviceptr address)
{
        struct memory_block block;
        struct handle_text text = { .magic = HANDLE_MAGIC };

        if (!ret || !memory_find(address, &block) || block.kind != MEMORY_POOL ||
            !block.pool->share)
                return CUDA_ERROR_INVALID_VALUE;
        struct share_plan plan = { .device = block.pool->reserve.unit,
                                   .family = FAMILY_POOL,
                                   .length = block.bytes };
        plan.fd = arena_file(block.base, &plan.offset);
        text.id = export_make(block.base, MEMORY_POOL, &plan);
        if (!text.id)
                return CUDA_ERROR_OPERATING_SYSTEM;
        memset(ret, 0, sizeof(*ret));
        memcpy(ret, &text, sizeof(text));
        return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolImportPointer(CUdeviceptr *ret, CUmemoryPool pool,
                                    CUmemPoolPtrExportData *data)
{
        struct handle_text text;

        CUresult result = pool_check(pool);
        if (result != CUDA_SUCCESS || !ret || !data || !pool->is_imported)
                return CUDA_ERROR_INVALID_VALUE;
        memcpy(&text, data, sizeof(text));
        if (text.magic != HANDLE_MAGIC)
                return CUDA_ERROR_INVALID_VALUE;
        return ipc_open(NULL, text.id, true, ret);
}

struct CUextMemory_st {
        uint32_t magic; /* EXTERNAL_MAGIC */
        unsigned unit;
        uint64_t bytes;
        /* id of the object (share.h); 0: from a file of no object, counted by this process */
        uint64_t share;
        CUcontext context;
        struct range *range; /* the whole memory, not in a set of ranges: buffers map parts of it */
};

/* Takes the memory behind a descriptor: a reference to an object, or for a plain file a grant of
 * this process. */
static CUresult external_take(uint64_t share, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *desc,
                              unsigned unit, struct share_view *ret_view)
{
        struct stat st;

        if (share) {
                if (share_open(share, false, ret_view) != SHARE_OK)
                        return CUDA_ERROR_INVALID_VALUE;
                if (ret_view->length >= desc->size)
                        return CUDA_SUCCESS;
                close(ret_view->fd);
                share_close(share);
                return CUDA_ERROR_INVALID_VALUE;
        }
        if (fstat(desc->handle.fd, &st) < 0 || (uint64_t)st.st_size < desc->size)
                return CUDA_ERROR_INVALID_VALUE;
        *ret_view = (struct share_view){ .fd = desc->handle.fd };
        return node_grant(unit, FAMILY_IMPORT, desc->size) == GRANT_OK ? CUDA_SUCCESS
                                                                       : CUDA_ERROR_OUT_OF_MEMORY;
}

static void external_give_back(uint64_t share, unsigned unit, uint64_t bytes)
{
        if (share)
                share_close(share);
        else
                node_release(unit, FAMILY_IMPORT, bytes);
}

static void external_list(struct range *range, CUcontext context)
{
        range->device = context->device;
        range->context = context;
        pthread_mutex_lock(&ranges_lock);
        range_insert(&outer_ranges, range);
        pthread_mutex_unlock(&ranges_lock);
}

CUresult sim_cuImportExternalMemory(CUcontext context, CUexternalMemory *ret,
                                    const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *desc)
{
        struct share_view view;

        if (!ret || !desc || desc->size == 0)
                return CUDA_ERROR_INVALID_VALUE;
        if (desc->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD)
                return CUDA_ERROR_NOT_SUPPORTED;
        uint64_t share = share_of_descriptor(desc->handle.fd);
        CUresult result = external_take(share, desc, context->unit, &view);
        if (result != CUDA_SUCCESS)
                return result;
        CUexternalMemory memory = calloc(1, sizeof(*memory));
        struct range *range = import_map(view.fd, view.offset, desc->size, (struct import){ 0 });
        if (share)
                close(view.fd);
        if (!memory || !range) {
                free(memory);
                if (range)
                        import_end(range);
                external_give_back(share, context->unit, desc->size);
                return CUDA_ERROR_MAP_FAILED;
        }
        close(desc->handle.fd); /* from here on the driver owns the descriptor */
        *memory = (struct CUextMemory_st){ .magic = EXTERNAL_MAGIC,
                                           .unit = context->unit,
                                           .bytes = desc->size,
                                           .share = share,
                                           .context = context,
                                           .range = range };
        external_list(range, context);
        *ret = memory;
        return CUDA_SUCCESS;
}

CUresult sim_cuExternalMemoryGetMappedBuffer(CUdeviceptr *ret, CUexternalMemory memory,
                                             const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *desc)
{
        if (!memory || memory->magic != EXTERNAL_MAGIC)
                return CUDA_ERROR_INVALID_HANDLE;
        if (!ret || !desc || desc->flags != 0 || desc->size == 0 || desc->offset > memory->bytes ||
            desc->size > memory->bytes - desc->offset)
                return CUDA_ERROR_INVALID_VALUE;
        *ret = memory->range->start + desc->offset;
        return CUDA_SUCCESS;
}

bool external_is_buffer(CUdeviceptr address)
{
        pthread_mutex_lock(&ranges_lock);
        const struct range *range = range_find(&outer_ranges, address);
        const struct import *import = range && range->kind == MEMORY_IMPORT ? range->owner : NULL;
        bool is_buffer = import && import->opens == 0;
        pthread_mutex_unlock(&ranges_lock);
        return is_buffer;
}

CUresult sim_cuDestroyExternalMemory(CUexternalMemory memory)
{
        if (!memory || memory->magic != EXTERNAL_MAGIC)
                return CUDA_ERROR_INVALID_HANDLE;
        exec_device_synchronize(memory->context->device);
        memory->magic = 0;
        pthread_mutex_lock(&ranges_lock);
        range_remove(&outer_ranges, memory->range);
        pthread_mutex_unlock(&ranges_lock);
        import_end(memory->range);
        external_give_back(memory->share, memory->unit, memory->bytes);
        free(memory);
        return CUDA_SUCCESS;
}

/* Closes the IPC handles that a context opened; external memory stays until it is destroyed. */
void imports_context_close(CUcontext context)
{
        CUdeviceptr from = 0;

        for (;;) {
                pthread_mutex_lock(&ranges_lock);
                struct range *range = range_find_from(&outer_ranges, from);
                while (range && !(range->kind == MEMORY_IMPORT && range->context == context &&
                                  ((struct import *)range->owner)->opens > 0))
                        range = range_find_from(&outer_ranges, range->end);
                if (!range) {
                        pthread_mutex_unlock(&ranges_lock);
                        return;
                }
                from = range->start;
                uint64_t share = ((struct import *)range->owner)->share;
                unsigned opens = ((struct import *)range->owner)->opens;
                range_remove(&outer_ranges, range);
                pthread_mutex_unlock(&ranges_lock);
                import_end(range);
                while (opens-- > 0)
                        share_close(share);
        }
}
