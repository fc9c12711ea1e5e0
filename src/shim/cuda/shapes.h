/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Includes the headers with the shapes of hooks. A row of cuda.api may name a shape; gen-api then
 * makes the row's hook from it: the hook calls SHAPE_begin() before the driver, and SHAPE_end()
 * afterwards. The shapes, and the headers that declare them:
 *
 *      submission     gives a device work: submit.h
 *      kernel         launches a kernel: kernel.h
 *      copying        copies, within a device or not: copy.h
 *      copying_parts  copies boxes, or several ranges in one call: copy.h
 *      copy_out       copies to the host, and returns when the copy is done: copy.h
 *      touch          adds something to a stream that is not work for the processors: access.h
 *      wait           parks a stream: makes it wait for the host or for a word in memory: wait.h
 *      capture        begins a capture: capture.h
 *
 *      tiles          maps memory into sparse arrays: vmm.h
 *      array_destroy  destroys an array: array.h
 *      code_unload, code_lookup
 *                     unloads code, or finds something in it: module.h
 *      context_destroy, stream_destroy, stream_recorded
 *                     ends a context, a stream, the recording of a stream: context.h, recorded.h
 *
 * The following shapes allocate memory. SHAPE_begin() reserves the charge and returns a state. A
 * function that is named after the state's struct, for example charged_call_goes_on(), says whether
 * to call the driver (again). SHAPE_end() settles the charge.
 *
 *      address, managed  plain memory: memory.h
 *      growth            stream-ordered memory, from a pool: pool.h
 *      array, mipmap     arrays: array.h
 *      context           contexts: context.h
 *      module, library   code: module.h
 *
 * The other shapes are one function each, which gets the driver's function as a parameter:
 * free_in_order (pool.h), ipc_open (ipc.h), graph_instantiate, graph_instantiate_with,
 * graph_upload, graph_launch (graph.h), stream_record (recorded.h).
 */
#ifndef ALIQUOT_SHIM_CUDA_SHAPES_H
#define ALIQUOT_SHIM_CUDA_SHAPES_H

#include "shim/cuda/code/kernel.h"     // IWYU pragma: export
#include "shim/cuda/code/module.h"     // IWYU pragma: export
#include "shim/cuda/context/context.h" // IWYU pragma: export
#include "shim/cuda/graph/graph.h"     // IWYU pragma: export
#include "shim/cuda/memory/array.h"    // IWYU pragma: export
#include "shim/cuda/memory/ipc.h"      // IWYU pragma: export
#include "shim/cuda/memory/memory.h"   // IWYU pragma: export
#include "shim/cuda/memory/pool.h"     // IWYU pragma: export
#include "shim/cuda/memory/vmm.h"      // IWYU pragma: export
#include "shim/cuda/stream/access.h"   // IWYU pragma: export
#include "shim/cuda/stream/capture.h"  // IWYU pragma: export
#include "shim/cuda/stream/copy.h"     // IWYU pragma: export
#include "shim/cuda/stream/recorded.h" // IWYU pragma: export
#include "shim/cuda/stream/submit.h"   // IWYU pragma: export
#include "shim/cuda/stream/wait.h"     // IWYU pragma: export

#endif
