/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shapes of hooks that gen-api makes from cuda.api: SHAPE_begin() before the driver's call,
 * SHAPE_end() after it.
 *
 *      submission     gives a device work: submit.h
 *      kernel         launches a function: kernel.h
 *      copying        copies, within a device or over a link: copy.h
 *      copying_parts  copies boxes, or several at once: copy.h
 *      copy_out       copies to the host, and returns when that is done: copy.h
 *      touch          leaves to a stream what is no work of the processors: access.h
 *      wait           makes a stream wait for somebody: wait.h
 *      capture        begins a capture: capture.h
 */
#ifndef ALIQUOT_SHIM_CUDA_SHAPES_H
#define ALIQUOT_SHIM_CUDA_SHAPES_H

#include "shim/cuda/code/kernel.h"    // IWYU pragma: export
#include "shim/cuda/stream/access.h"  // IWYU pragma: export
#include "shim/cuda/stream/capture.h" // IWYU pragma: export
#include "shim/cuda/stream/copy.h"    // IWYU pragma: export
#include "shim/cuda/stream/submit.h"  // IWYU pragma: export
#include "shim/cuda/stream/wait.h"    // IWYU pragma: export

#endif
