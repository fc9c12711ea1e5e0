/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stand-in CUDA runtime: state that its parts share, which is the driver, the thread's device
 * and the last error.
 *
 * The driver is opened by the first call that needs it and never closed. Every exported function is
 * runtime_enter(), a body, runtime_leave(). The body returns a driver's result or a runtime's
 * error; the numbers are the same. Any thread may call all of it.
 */
#ifndef ALIQUOT_CUDART_RUNTIME_H
#define ALIQUOT_CUDART_RUNTIME_H

#include "cudart/types.h"
#include "cudart/driver.h"

#include <stdbool.h>

#define EXPORT __attribute__((visibility("default")))

/* A device address as the driver takes it. */
#define P(pointer) ((CUdeviceptr)(uintptr_t)(pointer))

/* The errors that only the runtime has; all others are results of the driver. */
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

struct driver_name {
        const char *name;
        int version[2]; /* for cuGetProcAddress, per index: LEGACY, PER_THREAD */
};

/* Generated: the names of the slots of struct driver, in order. */
extern const struct driver_name driver_names[];
extern const unsigned driver_name_count;

enum { LEGACY, PER_THREAD }; /* the default stream that stream 0 means */
extern struct driver drivers[2];

enum entering { ENTER_NOTHING, ENTER_DRIVER, ENTER_CONTEXT };

/* Opens the driver, and makes a context current if the thread has none. Returns an error, or 0. */
int runtime_enter(enum entering need);

/* Keeps the error as the thread's last one, and returns it. */
cudaError_t runtime_leave(int error);

/* For a function that is not modelled: prints that once. */
cudaError_t runtime_missing(const char *function, _Atomic int *is_said);

/* The device of this thread. */
int device_current(void);

/* The primary context of a device, retained once per process. */
int device_context(int device, CUcontext *ret);

/* The kernel of a host function; loads its image if necessary. */
int registry_kernel(const void *function, CUkernel *ret);

/* The same as a function of the current context; a CUkernel or CUfunction is accepted too. */
int registry_function(const void *function, CUfunction *ret);

/* The host function of a kernel, or, without a handle, of that name; NULL if unknown. */
const void *registry_host_function(CUkernel kernel, const char *name);

/* The device variable of a host symbol, in the current context. */
int registry_variable(const void *symbol, CUdeviceptr *ret_address, size_t *ret_bytes);

#endif
