/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stand-in CUDA runtime: the state that its parts share, which is the driver, the thread's
 * device and the thread's last error.
 *
 * The driver is opened by the first call that needs it, and never closed. Every exported function
 * calls runtime_enter(), a body, and runtime_leave(). The body returns a driver's result or a
 * runtime's error; the same numbers have the same meaning in both. Any thread may call any of these
 * functions.
 */
#ifndef ALIQUOT_CUDART_RUNTIME_H
#define ALIQUOT_CUDART_RUNTIME_H

#include "cudart/types.h"
#include "cudart/driver.h"

#include <stdbool.h>

#define EXPORT __attribute__((visibility("default")))

/* Converts a pointer to the driver's type of a device address. */
#define P(pointer) ((CUdeviceptr)(uintptr_t)(pointer))

/* The errors that only the runtime has. All other errors are results of the driver. */
enum {
        cudaErrorInvalidConfiguration = 9,
        cudaErrorInvalidPitchValue = 12,
        cudaErrorInvalidSymbol = 13,
        cudaErrorInvalidMemcpyDirection = 21,
        cudaErrorInsufficientDriver = 35,
        cudaErrorMissingConfiguration = 52,
        cudaErrorInvalidDeviceFunction = 98,
};

#define DEVICES 64

/* A driver function and the version of it that the runtime calls. */
struct driver_name {
        const char *name;
        int version[2]; /* for cuGetProcAddress(); the indices are LEGACY and PER_THREAD */
};

/* The driver functions in the slots of struct driver, in the order of the slots (generated). */
extern const struct driver_name driver_names[];
extern const unsigned driver_name_count;

enum { LEGACY, PER_THREAD };     /* which default stream the stream 0 means */
extern struct driver drivers[2]; /* the driver's functions, for LEGACY and PER_THREAD */

/* What a call needs: nothing, an open driver, or a current context too. */
enum entering { ENTER_NOTHING, ENTER_DRIVER, ENTER_CONTEXT };

/* Opens the driver if the call needs it, and makes the device's primary context current if the call
 * needs a context and the thread has none. Returns an error, or 0. */
int runtime_enter(enum entering need);

/* Stores the error, unless it is 0, as the thread's last error, and returns it. */
cudaError_t runtime_leave(int error);

/* Returns the error for a function that is not modelled. If ALIQUOT_SIM_LOG is set, prints the
 * function's name once, for which `*is_said` starts as 0. */
cudaError_t runtime_missing(const char *function, _Atomic int *is_said);

/* Returns the device of this thread. */
int device_current(void);

/* Finds the primary context of a device, which the process retains at its first use. Returns an
 * error, or 0. */
int device_context(int device, CUcontext *ret);

/* Finds the kernel of a host function, and loads its image if necessary. Returns an error, or 0. */
int registry_kernel(const void *function, CUkernel *ret);

/* Finds the kernel of a host function as a CUfunction of the current context. `function` may also
 * be a CUkernel or CUfunction. Returns an error, or 0. */
int registry_function(const void *function, CUfunction *ret);

/* Returns the host function of `kernel`; if `kernel` is NULL, the host function of the kernel
 * `name`. NULL: unknown. */
const void *registry_host_function(CUkernel kernel, const char *name);

/* Finds the device variable of a host symbol, in the current context. Returns an error, or 0. */
int registry_variable(const void *symbol, CUdeviceptr *ret_address, size_t *ret_bytes);

#endif
