/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out on which device each end of a copy is. The driver is asked each time: caching its
 * answers would need a hook for every function that allocates or frees memory.
 */
#include "shim/cuda/place/copy_ends.h"

#include "common/atomic.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/place/front.h"

/* Results of device_of() besides the ordinal of a device. ON_A_DEVICE: some device, not known
 * which. */
#define ON_HOST (-1)
#define ON_A_DEVICE (-2)

static int ask_device(CUdeviceptr address)
{
        CUpointer_attribute asked[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL };
        CUmemorytype type = CU_MEMORYTYPE_HOST;
        int device = ON_HOST;
        void *told[] = { &type, &device };

        if (real.cuPointerGetAttributes(2, asked, told, address) != CUDA_SUCCESS)
                return ON_HOST;
        return type && type != CU_MEMORYTYPE_HOST ? device : ON_HOST;
}

/* Whether this process sees several devices. False if the driver does not report their number: it
 * is not initialised, so it will copy nothing. */
static bool are_several(void)
{
        static _Atomic int devices;
        int count = load_relaxed(&devices);

        if (!count && real.cuDeviceGetCount(&count) == CUDA_SUCCESS)
                store_relaxed(&devices, count);
        return count > 1;
}

static int device_of(struct copy_end end)
{
        switch (end.type) {
        case CU_MEMORYTYPE_ARRAY:
                return ON_A_DEVICE;
        case CU_MEMORYTYPE_DEVICE:
                return are_several() ? ask_device(end.address) : ON_A_DEVICE;
        case CU_MEMORYTYPE_HOST:
        case CU_MEMORYTYPE_UNIFIED:
                return ask_device(end.address);
        default:
                return ON_HOST;
        }
}

bool copy_is_within(struct copy_end to, struct copy_end from)
{
        int there = device_of(to);
        int here = there == ON_HOST ? ON_HOST : device_of(from);

        return here != ON_HOST && (here == there || here == ON_A_DEVICE || there == ON_A_DEVICE);
}

bool copy_any_is_within(const CUdeviceptr *to, const CUdeviceptr *from, size_t count)
{
        for (size_t i = 0; to && from && i < count; i++) {
                if (copy_is_within(copy_unified(to[i]), copy_unified(from[i])))
                        return true;
        }
        return false;
}

static struct copy_end end_of_operand(const CUmemcpy3DOperand *operand)
{
        if (operand->type == CU_MEMCPY_OPERAND_TYPE_ARRAY)
                return copy_in_array();
        return copy_unified(operand->op.ptr.ptr);
}

bool copy_any_box_is_within(const CUDA_MEMCPY3D_BATCH_OP *list, size_t count)
{
        for (size_t i = 0; list && i < count; i++) {
                if (copy_is_within(end_of_operand(&list[i].dst), end_of_operand(&list[i].src)))
                        return true;
        }
        return false;
}

bool copy_is_of_one_device(CUcontext to, CUcontext from)
{
        CUdevice device;

        if (to == from)
                return true;
        device = to && from ? place_of_context(to).device : -1;
        return device >= 0 && place_of_context(from).device == device;
}

bool copy_peer_is_within(const CUDA_MEMCPY3D_PEER *box)
{
        return box && copy_is_within(copy_end_of(box, dst), copy_end_of(box, src)) &&
               (box->dstMemoryType == CU_MEMORYTYPE_ARRAY ||
                box->srcMemoryType == CU_MEMORYTYPE_ARRAY ||
                copy_is_of_one_device(box->dstContext, box->srcContext));
}
