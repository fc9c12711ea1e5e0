/* SPDX-License-Identifier: Apache-2.0 */
#include "load/driver.h"

#include <errno.h>

#include "load/loader.h"

#define BUSY_SYMBOL "aliquot_sim_busy_ns"

static struct {
        __typeof__(&cuInit) cuInit;
        __typeof__(&cuDeviceGetUuid) cuDeviceGetUuid;
        __typeof__(&cuCtxCreate_v2) cuCtxCreate_v2;
        __typeof__(&cuCtxSynchronize) cuCtxSynchronize;
        __typeof__(&cuModuleLoadData) cuModuleLoadData;
        __typeof__(&cuModuleGetFunction) cuModuleGetFunction;
        __typeof__(&cuMemHostAlloc) cuMemHostAlloc;
        __typeof__(&cuMemHostGetDevicePointer_v2) cuMemHostGetDevicePointer_v2;
        __typeof__(&cuMemAlloc_v2) cuMemAlloc_v2;
        __typeof__(&cuMemsetD32_v2) cuMemsetD32_v2;
        __typeof__(&cuStreamCreate) cuStreamCreate;
        __typeof__(&cuStreamQuery) cuStreamQuery;
        __typeof__(&cuStreamSynchronize) cuStreamSynchronize;
        __typeof__(&cuStreamBeginCapture_v2) cuStreamBeginCapture_v2;
        __typeof__(&cuStreamEndCapture) cuStreamEndCapture;
        __typeof__(&cuGraphInstantiateWithFlags) cuGraphInstantiateWithFlags;
        __typeof__(&cuGraphLaunch) cuGraphLaunch;
        __typeof__(&cuLaunchKernel) cuLaunchKernel;
        __typeof__(&cuLaunchKernelEx) cuLaunchKernelEx;
        __typeof__(&cuLaunchCooperativeKernel) cuLaunchCooperativeKernel;
} driver;

CUresult cuInit(unsigned flags)
{
        return driver.cuInit(flags);
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
        return driver.cuDeviceGetUuid(uuid, device);
}

CUresult cuCtxCreate_v2(CUcontext *ret, unsigned flags, CUdevice device)
{
        return driver.cuCtxCreate_v2(ret, flags, device);
}

CUresult cuCtxSynchronize(void)
{
        return driver.cuCtxSynchronize();
}

CUresult cuModuleLoadData(CUmodule *ret, const void *image)
{
        return driver.cuModuleLoadData(ret, image);
}

CUresult cuModuleGetFunction(CUfunction *ret, CUmodule module, const char *name)
{
        return driver.cuModuleGetFunction(ret, module, name);
}

CUresult cuMemHostAlloc(void **ret, size_t bytes, unsigned flags)
{
        return driver.cuMemHostAlloc(ret, bytes, flags);
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *ret, void *host, unsigned flags)
{
        return driver.cuMemHostGetDevicePointer_v2(ret, host, flags);
}

CUresult cuMemAlloc_v2(CUdeviceptr *ret, size_t bytes)
{
        return driver.cuMemAlloc_v2(ret, bytes);
}

CUresult cuMemsetD32_v2(CUdeviceptr at, unsigned value, size_t count)
{
        return driver.cuMemsetD32_v2(at, value, count);
}

CUresult cuStreamCreate(CUstream *ret, unsigned flags)
{
        return driver.cuStreamCreate(ret, flags);
}

CUresult cuStreamQuery(CUstream stream)
{
        return driver.cuStreamQuery(stream);
}

CUresult cuStreamSynchronize(CUstream stream)
{
        return driver.cuStreamSynchronize(stream);
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
        return driver.cuStreamBeginCapture_v2(stream, mode);
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *ret)
{
        return driver.cuStreamEndCapture(stream, ret);
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *ret, CUgraph graph, unsigned long long flags)
{
        return driver.cuGraphInstantiateWithFlags(ret, graph, flags);
}

CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream)
{
        return driver.cuGraphLaunch(graph, stream);
}

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned shared, CUstream stream, void **params,
                        void **extra)
{
        return driver.cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **params, void **extra)
{
        return driver.cuLaunchKernelEx(config, f, params, extra);
}

CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                   unsigned by, unsigned bz, unsigned shared, CUstream stream,
                                   void **params)
{
        return driver.cuLaunchCooperativeKernel(f, gx, gy, gz, bx, by, bz, shared, stream, params);
}

int driver_open(struct error *err)
{
        static const struct loader_row rows[] = {
                { "cuInit", &driver.cuInit },
                { "cuDeviceGetUuid", &driver.cuDeviceGetUuid },
                { "cuCtxCreate_v2", &driver.cuCtxCreate_v2 },
                { "cuCtxSynchronize", &driver.cuCtxSynchronize },
                { "cuModuleLoadData", &driver.cuModuleLoadData },
                { "cuModuleGetFunction", &driver.cuModuleGetFunction },
                { "cuMemHostAlloc", &driver.cuMemHostAlloc },
                { "cuMemHostGetDevicePointer_v2", &driver.cuMemHostGetDevicePointer_v2 },
                { "cuMemAlloc_v2", &driver.cuMemAlloc_v2 },
                { "cuMemsetD32_v2", &driver.cuMemsetD32_v2 },
                { "cuStreamCreate", &driver.cuStreamCreate },
                { "cuStreamQuery", &driver.cuStreamQuery },
                { "cuStreamSynchronize", &driver.cuStreamSynchronize },
                { "cuStreamBeginCapture_v2", &driver.cuStreamBeginCapture_v2 },
                { "cuStreamEndCapture", &driver.cuStreamEndCapture },
                { "cuGraphInstantiateWithFlags", &driver.cuGraphInstantiateWithFlags },
                { "cuGraphLaunch", &driver.cuGraphLaunch },
                { "cuLaunchKernel", &driver.cuLaunchKernel },
                { "cuLaunchKernelEx", &driver.cuLaunchKernelEx },
                { "cuLaunchCooperativeKernel", &driver.cuLaunchCooperativeKernel },
        };

        return loader_open(rows, sizeof(rows) / sizeof(rows[0]), err);
}

driver_busy *driver_find_busy(void)
{
        return (driver_busy *)loader_find(BUSY_SYMBOL);
}

int driver_check(CUresult result, const char *call, struct error *err)
{
        return result == CUDA_SUCCESS ? 0 : fail(err, -EIO, "%s answered %d", call, (int)result);
}
