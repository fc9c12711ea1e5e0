/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shapes of hooks that gen-api makes from cuda.api: SHAPE_begin() runs before the driver's
 * call, SHAPE_end() after it.
 *
 *      submission     gives a device work: submit.h
 *      kernel         launches a function: kernel.h
 *      copying        copies, within a device or over a link: copy.h
 *      copying_parts  copies boxes, or several at once: copy.h
 *      copy_out       copies to the host, and returns when that is done: copy.h
 *      touch          adds to a stream something that is no work of the processors: access.h
 *      wait           parks a stream: makes it wait for the host or for a word in memory: wait.h
 *      capture        begins a capture: capture.h
 *
 *      tiles          maps memory into sparse arrays: vmm.h
 *      array_destroy  destroys an array: array.h
 *      code_unload, code_lookup
 *                     unloads code, or finds something in it: module.h
 *      context_destroy, stream_destroy, stream_recorded
 *                     ends a context, a stream, what a stream records: context.h, recorded.h
 *
 * Of those that allocate SHAPE_begin() reserves, the state's goes_on() says whether the driver is
 * called, or called again, and SHAPE_end() settles.
 *
 *      address, managed  plain memory: memory.h
 *      growth            stream-ordered memory, from a pool: pool.h
 *      array, mipmap     arrays: array.h
 *      context           contexts: context.h
 *      module, library   code: module.h
 *
 * The rest are functions that are given the driver's: free_in_order (pool.h), ipc_open (ipc.h),
 * graph_instantiate, graph_instantiate_with, graph_upload, graph_launch (graph.h), stream_record
 * (recorded.h).
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
