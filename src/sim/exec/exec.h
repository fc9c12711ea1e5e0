/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of the execution side (streams, graphs, launches) that the memory and context sides
 * call.
 *
 * The files of this folder and of graph/ define them.
 */
#ifndef ALIQUOT_SIM_EXEC_EXEC_H
#define ALIQUOT_SIM_EXEC_EXEC_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"

/* A context begins and ends. Close does not wait; it drops queued work and joins threads. */
CUresult exec_context_open(CUcontext context);
void exec_context_close(CUcontext context);

/* Waits until all of the context's work is done; returns its sticky error, if any. */
CUresult exec_context_synchronize(CUcontext context);

/* Waits until all work of this process on the device is done, as cuMemFree does. */
void exec_device_synchronize(CUdevice device);

/* The stream's context, legacy and per-thread handles resolved against the current context.
 * INVALID_HANDLE or INVALID_CONTEXT when it has none. */
CUresult exec_stream_context(CUstream stream, bool is_per_thread, CUcontext *ret_context);

/* Runs work(argument) in stream order, on an executor's thread, `cost_ns` of device time. */
CUresult exec_stream_submit(CUstream stream, bool is_per_thread, void (*work)(void *),
                            void *argument, uint64_t cost_ns);

/* Whether the calling thread runs a program's host function, in which few calls are allowed. */
bool exec_is_in_host_function(void);

/* Is the stream being captured? And may this thread make an unsafe call (cuMemAlloc, ...) now, as
 * the capture modes rule: SUCCESS or STREAM_CAPTURE_UNSUPPORTED (which invalidates the capture). */
bool exec_stream_is_capturing(CUstream stream, bool is_per_thread);
CUresult exec_capture_check_unsafe(void);

/* The same for waiting for a context: also if one of its streams captures, in any mode. */
CUresult exec_capture_check_context(CUcontext context);

/* In a captured stream the two become graph nodes instead. */
CUresult exec_capture_alloc(CUstream stream, bool is_per_thread, CUdevice device, uint64_t bytes,
                            CUdeviceptr *ret_address);
CUresult exec_capture_free(CUstream stream, bool is_per_thread, CUdeviceptr address);

#endif
