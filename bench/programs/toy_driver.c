/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver that does next to nothing, so that what is measured is what stands in front of it.
 *
 * One device, one context that is always current, addresses that only count up (TOY_SCATTER: all
 * over the address space instead, so that no two are neighbours). Each allocation
 * and release takes TOY_CALL_NS (asleep, like a driver in its ioctl; 0: at once). The time a
 * thread spent inside is kept, and told by cuToyInsideNs(): a name that no table lists, so a
 * library in front of this one has to pass it through.
 */
#include "abi/cuda.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/machine_clock.h"

#define CARD_BYTES (UINT64_C(1) << 40)

uint64_t cuToyInsideNs(void);

static _Atomic CUdeviceptr next_address = UINT64_C(1) << 32;
static uint64_t call_ns;
static bool is_scattering;
static _Thread_local uint64_t inside_ns;

static void take_time(void)
{
        uint64_t began_ns;

        if (!call_ns)
                return;
        began_ns = clock_machine_ns();
        nanosleep(&(struct timespec){ .tv_nsec = (long)call_ns }, NULL);
        inside_ns += clock_machine_ns() - began_ns;
}

uint64_t cuToyInsideNs(void)
{
        return inside_ns;
}

CUresult cuInit(unsigned int flags)
{
        const char *text = getenv("TOY_CALL_NS");

        call_ns = text ? strtoull(text, NULL, 10) : 0;
        is_scattering = getenv("TOY_SCATTER") != NULL;
        return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *ret)
{
        *ret = 13000;
        return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *ret)
{
        *ret = 1;
        return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *ret, int ordinal)
{
        *ret = ordinal;
        return ordinal ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

/* TOY_UUID names the card of a session that was made on another driver's: GPU-, and 32 digits with
 * dashes anywhere. */
CUresult cuDeviceGetUuid_v2(CUuuid *ret, CUdevice device)
{
        const char *text = getenv("TOY_UUID");
        unsigned byte;

        memset(ret, 0x11, sizeof(*ret));
        if (!text || strncmp(text, "GPU-", 4) != 0)
                return CUDA_SUCCESS;
        text += 4;
        for (size_t i = 0; i < sizeof(ret->bytes) && sscanf(text, "%2x", &byte) == 1; i++) {
                ret->bytes[i] = (char)byte;
                text += 2 + (text[2] == '-');
        }
        return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *ret, CUdevice device)
{
        *ret = CARD_BYTES;
        return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *ret)
{
        *ret = (CUcontext)&next_address;
        return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *ret)
{
        *ret = 0;
        return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *ret, size_t bytes)
{
        take_time();
        *ret = atomic_fetch_add_explicit(&next_address, (bytes + 511u) & ~(size_t)511u,
                                         memory_order_relaxed);
        if (is_scattering) /* an odd factor: every number of 32 bits once, in wild order */
                *ret = ((*ret >> 9) * 2654435761u & UINT32_MAX) << 9;
        return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr address)
{
        take_time();
        return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
                        unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
                        CUstream stream, void **params, void **extra)
{
        return CUDA_SUCCESS;
}

/* Streams are idle, and an event is passed when it is recorded: at the host's time. */

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *ret)
{
        *ret = CU_STREAM_CAPTURE_STATUS_NONE;
        return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *ret, unsigned int flags)
{
        *ret = (CUstream)&next_address;
        return CUDA_SUCCESS;
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
        return CUDA_SUCCESS;
}

CUresult cuStreamQuery(CUstream stream)
{
        return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream)
{
        return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *ret, unsigned int flags)
{
        *ret = calloc(1, sizeof(uint64_t));
        return *ret ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuEventDestroy_v2(CUevent event)
{
        free(event);
        return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
        *(uint64_t *)(void *)event = clock_machine_ns();
        return CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent event)
{
        return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *ret_ms, CUevent from, CUevent to)
{
        *ret_ms = (float)((double)(int64_t)(*(uint64_t *)(void *)to - *(uint64_t *)(void *)from) /
                          1e6);
        return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext context)
{
        return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *ret)
{
        return cuCtxGetCurrent(ret);
}
