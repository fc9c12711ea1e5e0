/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the driver as the real runtime does, and begins and ends every call.
 *
 * The driver is the libcuda.so.1 that the loader finds. Its functions are looked up with
 * cuGetProcAddress_v2(), once for the legacy and once for the per-thread default stream. So a
 * library in front of the driver gets the same lookups as from real programs.
 */
#include "cudart/runtime.h"

#include "common/atomic.h"
#include "common/environment.h"
#include "cudart/hand.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* The releases of the runtime from which cudart.api was made: 12.8 and 13.0. */
#define RUNTIME_VERSION (CUDART_MAJOR == 12 ? 12080 : 13000)

struct driver drivers[2];

static pthread_once_t opened = PTHREAD_ONCE_INIT;
static int open_error = cudaErrorInsufficientDriver;
static int driver_version; /* the driver's CUDA version; 0: there is no driver */
static __thread int last_error;

static int lacking(void)
{
        return CUDA_ERROR_NOT_SUPPORTED;
}

static void table_fill(int which, __typeof__(cuGetProcAddress_v2) *find, cuuint64_t flags)
{
        void **slot = (void **)&drivers[which];

        for (unsigned i = 0; i < driver_name_count; i++) {
                CUdriverProcAddressQueryResult status;
                void *found = NULL;

                if (find(driver_names[i].name, &found, driver_names[i].version[which], flags,
                         &status) ||
                    !found)
                        found = (void *)lacking;
                slot[i] = found;
        }
}

static void open_driver(void)
{
        void *library = dlopen("libcuda.so.1", RTLD_NOW);
        __typeof__(cuGetProcAddress_v2) *find;

        if (!library)
                return;
        find = (__typeof__(cuGetProcAddress_v2) *)dlsym(library, "cuGetProcAddress_v2");
        if (!find)
                return;
        table_fill(LEGACY, find, CU_GET_PROC_ADDRESS_LEGACY_STREAM);
        table_fill(PER_THREAD, find, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
        if (drivers[LEGACY].cuDriverGetVersion(&driver_version) ||
            driver_version < CUDART_MAJOR * 1000)
                return;
        open_error = (int)drivers[LEGACY].cuInit(0);
}

static int context_ensure(void)
{
        CUcontext context = NULL;
        int rc = (int)drivers[LEGACY].cuCtxGetCurrent(&context);

        if (rc || context)
                return rc;
        rc = device_context(device_current(), &context);
        return rc ? rc : (int)drivers[LEGACY].cuCtxSetCurrent(context);
}

int runtime_enter(enum entering need)
{
        if (need == ENTER_NOTHING)
                return 0;
        pthread_once(&opened, open_driver);
        if (open_error || need == ENTER_DRIVER)
                return open_error;
        return context_ensure();
}

cudaError_t runtime_leave(int error)
{
        if (error)
                last_error = error;
        return error;
}

cudaError_t runtime_missing(const char *function, _Atomic int *is_said)
{
        if (!swap_relaxed(is_said, 1) && environment_get("ALIQUOT_SIM_LOG"))
                fprintf(stderr, "aliquot-sim: %s is not modelled: cudaErrorNotSupported\n",
                        function);
        return runtime_leave(CUDA_ERROR_NOT_SUPPORTED);
}

EXPORT cudaError_t cudaGetLastError(void);
EXPORT cudaError_t cudaGetLastError(void)
{
        int error = last_error;

        last_error = 0;
        return error;
}

EXPORT cudaError_t cudaPeekAtLastError(void);
EXPORT cudaError_t cudaPeekAtLastError(void)
{
        return last_error;
}

/* Returns the driver's CUDA version, even without a card; 0: there is no driver. */
int rt_cudaDriverGetVersion(const struct driver *d, int *ret)
{
        if (!ret)
                return CUDA_ERROR_INVALID_VALUE;
        pthread_once(&opened, open_driver);
        *ret = driver_version;
        return 0;
}

int rt_cudaRuntimeGetVersion(const struct driver *d, int *ret)
{
        if (!ret)
                return CUDA_ERROR_INVALID_VALUE;
        *ret = RUNTIME_VERSION;
        return 0;
}

/* A lookup of a driver function by name. */
struct entry_wish {
        const char *symbol;
        int version;
        unsigned long long flags;
};

static int entry_point(const struct driver *d, struct entry_wish wish, void **ret, int *ret_status)
{
        CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
        int rc;

        if (!wish.symbol || !ret || wish.flags > cudaEnablePerThreadDefaultStream)
                return CUDA_ERROR_INVALID_VALUE;
        if (wish.flags == cudaEnableDefault)
                wish.flags = d == &drivers[PER_THREAD] ? cudaEnablePerThreadDefaultStream
                                                       : cudaEnableLegacyStream;
        rc = (int)d->cuGetProcAddress_v2(wish.symbol, ret, wish.version, wish.flags, &status);
        if (ret_status)
                *ret_status = (int)status;
        /* If the caller passes ret_status, an unknown name is no error. */
        return rc == CUDA_ERROR_NOT_FOUND && ret_status ? 0 : rc;
}

int rt_cudaGetDriverEntryPoint(const struct driver *d, const char *symbol, void **ret,
                               unsigned long long flags, int *ret_status)
{
        const struct entry_wish wish = { symbol, RUNTIME_VERSION, flags };

        return entry_point(d, wish, ret, ret_status);
}

int rt_cudaGetDriverEntryPointByVersion(const struct driver *d, const char *symbol, void **ret,
                                        unsigned int version, unsigned long long flags,
                                        int *ret_status)
{
        const struct entry_wish wish = { symbol, (int)version, flags };

        return entry_point(d, wish, ret, ret_status);
}

int rt_cudaProfilerStart(const struct driver *d)
{
        return 0;
}

int rt_cudaProfilerStop(const struct driver *d)
{
        return 0;
}
