/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the memory and context side asks of the execution side (streams, graphs, launches).
 *
 * The files of this folder and of graph/ define these.
 */
#ifndef ALIQUOT_SIM_EXEC_EXEC_H
#define ALIQUOT_SIM_EXEC_EXEC_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"

/* A context begins and ends. Close waits for nothing; it drops what is queued and joins threads. */
CUresult exec_context_open(CUcontext context);
void exec_context_close(CUcontext context);

/* Waits until all of the context's work is done; its sticky error if it has one by then. */
CUresult exec_context_synchronize(CUcontext context);

/* All work of this process on the device done: what cuMemFree waits for. */
void exec_device_synchronize(CUdevice device);

/* The stream's context, legacy and per-thread handles resolved against the current context.
 * INVALID_HANDLE or INVALID_CONTEXT when it has none. */
CUresult exec_stream_context(CUstream stream, bool is_per_thread, CUcontext *ret_context);

/* Runs work(argument) in stream order, on an executor's thread, `cost_ns` of device time. */
CUresult exec_stream_submit(CUstream stream, bool is_per_thread, void (*work)(void *),
                            void *argument, uint64_t cost_ns);

/* Does the calling thread run a program's host function? It may make few calls. */
bool exec_is_in_host_function(void);

/* Is the stream being captured? And may this thread make an unsafe call (cuMemAlloc, ...) now, as
 * the capture modes rule: SUCCESS or STREAM_CAPTURE_UNSUPPORTED (which invalidates the capture). */
bool exec_stream_is_capturing(CUstream stream, bool is_per_thread);
CUresult exec_capture_check_unsafe(void);

/* The same for waiting for a context: also when one of its streams captures, in whatever mode. */
CUresult exec_capture_check_context(CUcontext context);

/* In a captured stream the two become graph nodes instead. */
CUresult exec_capture_alloc(CUstream stream, bool is_per_thread, CUdevice device, uint64_t bytes,
                            CUdeviceptr *ret_address);
CUresult exec_capture_free(CUstream stream, bool is_per_thread, CUdeviceptr address);

#endif
