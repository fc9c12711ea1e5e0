/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions for streams, graphs and launches that the code for memory and for contexts calls.
 *
 * The files of this folder and of graph/ define them.
 */
#ifndef ALIQUOT_SIM_EXEC_EXEC_H
#define ALIQUOT_SIM_EXEC_EXEC_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"

/* Open and close the streams' side of a context. Closing drops queued work without waiting for it,
 * and joins the threads. */
CUresult exec_context_open(CUcontext context);
void exec_context_close(CUcontext context);

/* Waits until all of the context's work is done; returns its sticky error, if any. */
CUresult exec_context_synchronize(CUcontext context);

/* Waits until all work of this process on the device is done, as cuMemFree does. */
void exec_device_synchronize(CUdevice device);

/* Returns the stream's context; the legacy and per-thread handles are resolved against the current
 * context. INVALID_HANDLE or INVALID_CONTEXT when the stream has no context. */
CUresult exec_stream_context(CUstream stream, bool is_per_thread, CUcontext *ret_context);

/* Queues work(argument) in a stream. The stream's thread calls it, after which it takes `cost_ns`
 * of device time. */
CUresult exec_stream_submit(CUstream stream, bool is_per_thread, void (*work)(void *),
                            void *argument, uint64_t cost_ns);

/* Returns whether the calling thread runs a program's host function, in which few calls are
 * allowed. */
bool exec_is_in_host_function(void);

/* exec_stream_is_capturing() returns whether the stream is being captured.
 * exec_capture_check_unsafe() returns whether the capture modes allow the calling thread an unsafe
 * call (for example cuMemAlloc) now: SUCCESS, or STREAM_CAPTURE_UNSUPPORTED, which also invalidates
 * the capture. */
bool exec_stream_is_capturing(CUstream stream, bool is_per_thread);
CUresult exec_capture_check_unsafe(void);

/* Checks whether a capture forbids waiting for the whole context. Unlike with
 * exec_capture_check_unsafe(), a capture in any of its streams forbids that, in any mode. */
CUresult exec_capture_check_context(CUcontext context);

/* Allocate and free in stream order. In a captured stream, they add a graph node instead. */
CUresult exec_capture_alloc(CUstream stream, bool is_per_thread, CUdevice device, uint64_t bytes,
                            CUdeviceptr *ret_address);
CUresult exec_capture_free(CUstream stream, bool is_per_thread, CUdeviceptr address);

#endif
