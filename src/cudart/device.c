/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices and their primary contexts.
 *
 * A thread starts with device 0. The first call that needs a device's primary context retains the
 * context, until cudaDeviceReset().
 */
#include "cudart/runtime.h"
#include "cudart/hand.h"

#include <pthread.h>
#include <string.h>

static __thread int chosen; /* the thread's device, which cudaSetDevice() sets */

static pthread_mutex_t retain_lock = PTHREAD_MUTEX_INITIALIZER;
/* the retained contexts, by device; NULL: not retained; guarded by retain_lock */
static CUcontext retained[DEVICES];

int device_current(void)
{
        return chosen;
}

int device_context(int device, CUcontext *ret)
{
        int rc = 0;

        if (device < 0 || device >= DEVICES)
                return CUDA_ERROR_INVALID_DEVICE;
        pthread_mutex_lock(&retain_lock);
        if (!retained[device])
                rc = (int)drivers[LEGACY].cuDevicePrimaryCtxRetain(&retained[device], device);
        *ret = retained[device];
        pthread_mutex_unlock(&retain_lock);
        return rc;
}

int rt_cudaGetDeviceCount(const struct driver *d, int *ret)
{
        int rc = ret ? (int)d->cuDeviceGetCount(ret) : CUDA_ERROR_INVALID_VALUE;

        return rc == 0 && *ret == 0 ? CUDA_ERROR_NO_DEVICE : rc;
}

int rt_cudaGetDevice(const struct driver *d, int *ret)
{
        CUdevice device;
        int rc;

        if (!ret)
                return CUDA_ERROR_INVALID_VALUE;
        rc = runtime_enter(ENTER_DRIVER);
        if (rc)
                return rc;
        *ret = d->cuCtxGetDevice(&device) ? chosen : device;
        return 0;
}

static int device_check(const struct driver *d, int device)
{
        int count;
        int rc = (int)d->cuDeviceGetCount(&count);

        if (rc)
                return rc;
        if (count == 0)
                return CUDA_ERROR_NO_DEVICE;
        return device < 0 || device >= count ? CUDA_ERROR_INVALID_DEVICE : 0;
}

/* Sets the thread's device. Since CUDA 12 the call also makes the device's context current. */
int rt_cudaSetDevice(const struct driver *d, int device)
{
        CUcontext context;
        int rc = device_check(d, device);

        if (rc)
                return rc;
        chosen = device;
        rc = device_context(device, &context);
        return rc ? rc : (int)d->cuCtxSetCurrent(context);
}

int rt_cudaInitDevice(const struct driver *d, int device, unsigned int device_flags,
                      unsigned int flags)
{
        CUcontext context;
        int rc = device_check(d, device);

        if (!rc && flags)
                rc = (int)d->cuDevicePrimaryCtxSetFlags_v2(device, device_flags);
        return rc ? rc : device_context(device, &context);
}

/* Chooses the device that matches `prop` best. All devices count as equal, so it is the first. */
int rt_cudaChooseDevice(const struct driver *d, int *ret, const struct cudaDeviceProp *prop)
{
        if (!ret || !prop)
                return CUDA_ERROR_INVALID_VALUE;
        *ret = 0;
        return device_check(d, 0);
}

int rt_cudaSetValidDevices(const struct driver *d, int *devices, int count)
{
        int rc = 0;

        if (count < 0 || (count && !devices))
                return CUDA_ERROR_INVALID_VALUE;
        for (int i = 0; i < count && !rc; i++)
                rc = device_check(d, devices[i]);
        if (!rc && count)
                chosen = devices[0];
        return rc;
}

int rt_cudaDeviceEnablePeerAccess(const struct driver *d, int peer, unsigned int flags)
{
        CUcontext context;
        int rc = device_context(peer, &context);

        return rc ? rc : (int)d->cuCtxEnablePeerAccess(context, flags);
}

int rt_cudaDeviceDisablePeerAccess(const struct driver *d, int peer)
{
        CUcontext context;
        int rc = device_context(peer, &context);

        return rc ? rc : (int)d->cuCtxDisablePeerAccess(context);
}

/* Resets and releases the primary context, even if other code has retained it. */
int rt_cudaDeviceReset(const struct driver *d)
{
        CUdevice device = chosen;
        int rc;

        d->cuCtxGetDevice(&device);
        pthread_mutex_lock(&retain_lock);
        rc = (int)d->cuDevicePrimaryCtxReset_v2(device);
        if (retained[device])
                d->cuDevicePrimaryCtxRelease_v2(device);
        retained[device] = NULL;
        pthread_mutex_unlock(&retain_lock);
        d->cuCtxSetCurrent(NULL);
        return rc;
}

int rt_cudaSetDeviceFlags(const struct driver *d, unsigned int flags)
{
        return (int)d->cuDevicePrimaryCtxSetFlags_v2(chosen, flags);
}

int rt_cudaGetDeviceFlags(const struct driver *d, unsigned int *ret)
{
        int is_active;

        return (int)d->cuDevicePrimaryCtxGetState(chosen, ret, &is_active);
}
