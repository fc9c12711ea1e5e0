/* SPDX-License-Identifier: Apache-2.0 */
#include "load/driver.h"

#include <errno.h>

#include "load/loader.h"

#define BUSY_SYMBOL "aliquot_sim_busy_ns"

/* name, parameters, arguments */
#define FUNCTIONS(X)                                                                            \
        X(cuInit, (unsigned flags), (flags))                                                    \
        X(cuDeviceGetUuid, (CUuuid * uuid, CUdevice device), (uuid, device))                    \
        X(cuCtxCreate_v2, (CUcontext * ret, unsigned flags, CUdevice device),                   \
          (ret, flags, device))                                                                 \
        X(cuCtxSynchronize, (void), ())                                                         \
        X(cuModuleLoadData, (CUmodule * ret, const void *image), (ret, image))                  \
        X(cuModuleGetFunction, (CUfunction * ret, CUmodule module, const char *name),           \
          (ret, module, name))                                                                  \
        X(cuMemHostAlloc, (void **ret, size_t bytes, unsigned flags), (ret, bytes, flags))      \
        X(cuMemHostGetDevicePointer_v2, (CUdeviceptr * ret, void *host, unsigned flags),        \
          (ret, host, flags))                                                                   \
        X(cuMemAlloc_v2, (CUdeviceptr * ret, size_t bytes), (ret, bytes))                       \
        X(cuMemsetD32_v2, (CUdeviceptr at, unsigned value, size_t count), (at, value, count))   \
        X(cuStreamCreate, (CUstream * ret, unsigned flags), (ret, flags))                       \
        X(cuStreamQuery, (CUstream stream), (stream))                                           \
        X(cuStreamSynchronize, (CUstream stream), (stream))                                     \
        X(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode), (stream, mode)) \
        X(cuStreamEndCapture, (CUstream stream, CUgraph * ret), (stream, ret))                  \
        X(cuGraphInstantiateWithFlags,                                                          \
          (CUgraphExec * ret, CUgraph graph, unsigned long long flags), (ret, graph, flags))    \
        X(cuGraphLaunch, (CUgraphExec graph, CUstream stream), (graph, stream))                 \
        X(cuLaunchKernel,                                                                       \
          (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,       \
           unsigned bz, unsigned shared, CUstream stream, void **params, void **extra),         \
          (f, gx, gy, gz, bx, by, bz, shared, stream, params, extra))                           \
        X(cuLaunchKernelEx,                                                                     \
          (const CUlaunchConfig *config, CUfunction f, void **params, void **extra),            \
          (config, f, params, extra))                                                           \
        X(cuLaunchCooperativeKernel,                                                            \
          (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,       \
           unsigned bz, unsigned shared, CUstream stream, void **params),                       \
          (f, gx, gy, gz, bx, by, bz, shared, stream, params))

static struct {
#define X(name, parameters, arguments) __typeof__ (&(name))(name);
        FUNCTIONS(X)
#undef X
} driver;

#define X(name, parameters, arguments)        \
        CUresult name parameters              \
        {                                     \
                return driver.name arguments; \
        }
FUNCTIONS(X)
#undef X

int driver_open(struct error *err)
{
        static const struct loader_row rows[] = {
#define X(name, parameters, arguments) { #name, &driver.name },
                FUNCTIONS(X)
#undef X
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
