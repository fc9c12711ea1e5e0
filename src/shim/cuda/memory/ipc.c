/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/memory/ipc.h"

#include "shim/cuda/charge/import.h"
#include "shim/cuda/driver/hooks.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/memory/pool.h"
#include "shim/cuda/place/front.h"
#include "shim/cuda/stream/access.h"
#include "shim/cuda/stream/ask.h"
#include "shim/cuda/swap/block.h"

static bool range_of(CUdeviceptr address, CUdeviceptr *ret_base, size_t *ret_bytes)
{
        return real.cuMemGetAddressRange_v2(ret_base, ret_bytes, address) == CUDA_SUCCESS;
}

CUresult hook_cuIpcGetMemHandle(CUipcMemHandle *ret, CUdeviceptr address)
{
        CUresult rc = swap_meets(address, 1) ? CUDA_ERROR_INVALID_VALUE
                                             : real.cuIpcGetMemHandle(ret, address);
        CUdeviceptr base;
        size_t bytes;

        if (rc == CUDA_SUCCESS && front_is_on() && range_of(address, &base, &bytes))
                import_export(import_name_bytes(ret, sizeof(*ret)), SPACE_POINTER, base);
        return rc;
}

/* Returns the place of memory that was opened: the device of the context that opened it, or a peer
 * device. */
static struct place place_of_address(CUdeviceptr address)
{
        const struct place unknown = { .row = SESSION_NO_ROW, .device = -1 };
        int device;

        if (real.cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) !=
            CUDA_SUCCESS)
                return unknown;
        return place_of_device(device);
}

static CUresult charge_opened(CUdeviceptr address, uint64_t name)
{
        struct memory_import *import;
        CUdeviceptr base;
        size_t bytes;
        CUresult rc;

        if (!range_of(address, &base, &bytes))
                return CUDA_ERROR_NOT_PERMITTED;
        rc = import_begin(&import, name, place_of_address(address), bytes);
        if (rc == CUDA_SUCCESS)
                import_keep(import, SPACE_IMPORT, address);
        return rc;
}

static uint64_t name_of(const CUipcMemHandle *handle)
{
        return import_name_bytes(handle, sizeof(*handle));
}

/* Charges the opened memory, or closes it again if the charge is refused. Ends `announced`. */
static CUresult settle_open(CUdeviceptr *ret, uint64_t name, struct memory_import *announced,
                            CUresult rc)
{
        if (rc == CUDA_SUCCESS && front_is_on()) {
                rc = charge_opened(*ret, name);
                if (rc != CUDA_SUCCESS) {
                        scoped_relaxed struct relaxed was = relax();

                        real.cuIpcCloseMemHandle(*ret);
                }
        }
        import_end(announced);
        return rc;
}

CUresult ipc_open(__typeof__(&cuIpcOpenMemHandle) driver, CUdeviceptr *ret, CUipcMemHandle handle,
                  unsigned int flags)
{
        scoped_access const struct credit *access = access_scope();
        uint64_t name = name_of(&handle);
        struct memory_import *announced = import_announce(name);

        return settle_open(ret, name, announced, driver(ret, handle, flags));
}

/* Ends the import, or puts it back under its key if the driver refused to close it. */
static CUresult settle_close(struct memory_import *import, CUresult rc, enum charge_space space,
                             uint64_t key)
{
        if (rc == CUDA_SUCCESS)
                import_end(import);
        else
                import_keep(import, space, key);
        return rc;
}

CUresult hook_cuIpcCloseMemHandle(CUdeviceptr address)
{
        scoped_access const struct credit *access = access_scope();
        struct memory_import *import = import_take(SPACE_IMPORT, address);

        return settle_close(import, real.cuIpcCloseMemHandle(address), SPACE_IMPORT, address);
}

CUresult hook_cuMemPoolExportPointer(CUmemPoolPtrExportData *ret, CUdeviceptr address)
{
        CUresult rc = real.cuMemPoolExportPointer(ret, address);

        if (rc == CUDA_SUCCESS && front_is_on())
                import_export(import_name_bytes(ret, sizeof(*ret)), SPACE_POOL, address);
        return rc;
}

/* Such an import ends only by a free (cuMemFree, cuMemFreeAsync), which finds it by its address. */
CUresult hook_cuMemPoolImportPointer(CUdeviceptr *ret, CUmemoryPool pool,
                                     CUmemPoolPtrExportData *data)
{
        scoped_access const struct credit *access = access_scope();
        uint64_t name = data ? import_name_bytes(data, sizeof(*data)) : 0;
        struct memory_import *announced = import_announce(name);
        CUresult rc = real.cuMemPoolImportPointer(ret, pool, data);

        if (rc == CUDA_SUCCESS && front_is_on()) {
                rc = charge_opened(*ret, name);
                if (rc != CUDA_SUCCESS) {
                        scoped_relaxed struct relaxed was = relax();

                        real.cuMemFree_v2(*ret);
                }
        }
        import_end(announced);
        return rc;
}

CUresult hook_cuImportExternalMemory(CUexternalMemory *ret,
                                     const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *desc)
{
        scoped_access const struct credit *access = access_scope();
        struct import_growth growth;
        struct memory_import *import;
        uint64_t name = 0;
        CUresult rc;

        if (!ret || !desc || !front_is_on())
                return real.cuImportExternalMemory(ret, desc);
        if (desc->type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD ||
            desc->type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD)
                name = import_name_fd(desc->handle.fd);
        import = import_announce(name);
        rc = import_grow(&growth, import, place_here(), desc->size);
        if (rc == CUDA_SUCCESS)
                rc = import_settle(&growth, real.cuImportExternalMemory(ret, desc));
        if (rc == CUDA_SUCCESS)
                import_keep(import, SPACE_HANDLE, key_of(*ret));
        else
                import_end(import);
        return rc;
}

CUresult hook_cuDestroyExternalMemory(CUexternalMemory memory)
{
        scoped_access const struct credit *access = access_scope();
        struct memory_import *import = import_take(SPACE_HANDLE, key_of(memory));

        return settle_close(import, real.cuDestroyExternalMemory(memory), SPACE_HANDLE,
                            key_of(memory));
}
