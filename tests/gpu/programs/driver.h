/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver as a program finds it, as frameworks do (load/loader.h).
 *
 *      driver_open();                          the table below is filled, or the program ends
 *      must(driver.init(0), "cuInit");         likewise, unless it succeeds
 *
 * Time is the machine's, or that of a driver that keeps its own (common/clock.h).
 */
#pragma once

#include "abi/cuda.h"

/* Member, and the exported name. */
#define DRIVER_CALLS(X)                                     \
        X(init, cuInit)                                     \
        X(retain, cuDevicePrimaryCtxRetain)                 \
        X(set_current, cuCtxSetCurrent)                     \
        X(get_device, cuCtxGetDevice)                       \
        X(synchronize, cuCtxSynchronize)                    \
        X(alloc, cuMemAlloc_v2)                             \
        X(free, cuMemFree_v2)                               \
        X(info, cuMemGetInfo_v2)                            \
        X(host_alloc, cuMemHostAlloc)                       \
        X(host_pointer, cuMemHostGetDevicePointer_v2)       \
        X(copy_to, cuMemcpyHtoD_v2)                         \
        X(copy_from, cuMemcpyDtoH_v2)                       \
        X(load, cuModuleLoadData)                           \
        X(function, cuModuleGetFunction)                    \
        X(launch, cuLaunchKernel)                           \
        X(launch_ex, cuLaunchKernelEx)                      \
        X(launch_cooperative, cuLaunchCooperativeKernel)    \
        X(stream, cuStreamCreate)                           \
        X(stream_wait, cuStreamSynchronize)                 \
        X(event, cuEventCreate)                             \
        X(record, cuEventRecord)                            \
        X(event_wait, cuEventSynchronize)                   \
        X(event_query, cuEventQuery)                        \
        X(event_elapsed, cuEventElapsedTime)                \
        X(stream_query, cuStreamQuery)                      \
        X(stream_context, cuStreamGetCtx)                   \
        X(stream_number, cuStreamGetId)                     \
        X(is_capturing, cuStreamIsCapturing)                \
        X(exchange_mode, cuThreadExchangeStreamCaptureMode) \
        X(push, cuCtxPushCurrent_v2)                        \
        X(pop, cuCtxPopCurrent_v2)                          \
        X(host_function, cuLaunchHostFunc)                  \
        X(begin_capture, cuStreamBeginCapture_v2)           \
        X(end_capture, cuStreamEndCapture)                  \
        X(instantiate, cuGraphInstantiateWithFlags)         \
        X(launch_graph, cuGraphLaunch)                      \
        X(find, cuGetProcAddress_v2)

#define DRIVER_MEMBER(member, name) __typeof__(name) *member;
extern struct driver {
        DRIVER_CALLS(DRIVER_MEMBER)
} driver;

void driver_open(void);

/* A session of Aliquot's is on in this process, whose page is mapped: "true", else "false". As
 * said.py tells it. */
const char *driver_is_with_us(void);
void must(CUresult rc, const char *what);

/* Initialised, the primary context of card 0 current. */
void driver_ready(void);

/* The module in a file of PTX; ends the program if it cannot be had. */
CUmodule driver_module(const char *path);
