/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures: what is given to such a stream becomes part of a graph, and does not run.
 *
 * Nothing of ours goes into a capture, and nothing that we ask ends one. Begin and end of captures
 * pass through our hooks under the lock of the stream's record, as do our own questions about that
 * stream; a stream that joins a capture does so by waiting for an event, which is a hook, too.
 */
#ifndef ALIQUOT_SHIM_CUDA_CAPTURE_H
#define ALIQUOT_SHIM_CUDA_CAPTURE_H

#include <stdbool.h>

#include "abi/cuda.h"
#include "shim/cuda/ask.h"

/* Some stream of this process may be captured, or recorded for graphics (recorded.h). */
bool captures_are_open(void);

#endif
