/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access between devices. Every pair of devices has it, except MIG instances; a context must enable
 * it first.
 */
#include <stddef.h>
#include <string.h>

#include "sim/context/context.h"
#include "sim/context/device.h"
#include "sim/entries.h"
#include "sim/memory/families.h"

static bool can_access(CUdevice device, CUdevice peer)
{
        return device != peer && !device_node(device)->is_mig && !device_node(peer)->is_mig;
}

CUresult sim_cuDeviceCanAccessPeer(int *ret, CUdevice device, CUdevice peer)
{
        if (!device_is_valid(device) || !device_is_valid(peer))
                return CUDA_ERROR_INVALID_DEVICE;
        *ret = can_access(device, peer);
        return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetP2PAttribute(int *ret, CUdevice_P2PAttribute attribute, CUdevice device,
                                     CUdevice peer)
{
        if (!device_is_valid(device) || !device_is_valid(peer) || device == peer)
                return CUDA_ERROR_INVALID_DEVICE;
        switch (attribute) {
        case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
                *ret = 0;
                break;
        case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
        case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
        case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
                *ret = can_access(device, peer);
                break;
        case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED:
                *ret = 0;
                break;
        default:
                return CUDA_ERROR_INVALID_VALUE;
        }
        return CUDA_SUCCESS;
}

static CUresult capabilities(unsigned int *ret, const CUatomicOperation *operations,
                             unsigned int count)
{
        if (!ret || !operations || count == 0)
                return CUDA_ERROR_INVALID_VALUE;
        for (unsigned i = 0; i < count; i++) {
                if ((unsigned)operations[i] >= CU_ATOMIC_OPERATION_MAX)
                        return CUDA_ERROR_INVALID_VALUE;
        }
        memset(ret, 0, count * sizeof(*ret));
        return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetP2PAtomicCapabilities(unsigned int *ret,
                                              const CUatomicOperation *operations,
                                              unsigned int count, CUdevice device, CUdevice peer)
{
        if (!device_is_valid(device) || !device_is_valid(peer) || device == peer)
                return CUDA_ERROR_INVALID_DEVICE;
        return capabilities(ret, operations, count);
}

CUresult sim_cuDeviceGetHostAtomicCapabilities(unsigned int *ret,
                                               const CUatomicOperation *operations,
                                               unsigned int count, CUdevice device)
{
        return capabilities(ret, operations, count);
}

static CUresult peer_set(CUcontext peer, bool is_enabled)
{
        CUcontext context;
        CUresult result = context_require(&context);

        if (result == CUDA_SUCCESS)
                result = context_check(peer);
        if (result != CUDA_SUCCESS)
                return result;
        if (peer->device == context->device)
                return CUDA_ERROR_INVALID_DEVICE;
        if (!can_access(context->device, peer->device))
                return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
        uint32_t bit = 1u << peer->device;
        pthread_mutex_lock(&process_lock);
        if (is_enabled == !!(context->peers & bit))
                result = is_enabled ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
                                    : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
        else
                context->peers ^= bit;
        pthread_mutex_unlock(&process_lock);
        return result;
}

CUresult sim_cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
        if (flags != 0)
                return CUDA_ERROR_INVALID_VALUE;
        return peer_set(peer, true);
}

CUresult sim_cuCtxDisablePeerAccess(CUcontext peer)
{
        return peer_set(peer, false);
}
