/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands in a stream between launches and is no work of the device: a wait for an event, a
 * word in memory or a semaphore of another API, a function on the host, a copy over a link. The
 * time for which it stands there is nobody's.
 *
 *      struct pause pause;
 *
 *      pause_begin(&pause, stream, LANE_WAITS);
 *      return pause_end(&pause, real.cuStreamWaitEvent(...));
 *
 * It is said of the stream's lane (lane.h), so that whichever thread launches there next begins
 * anew. What was launched there before is measured up to the pause, by a marker ahead of it, where
 * that is known to be possible; else it is charged the average, as is what another thread launches
 * there with the credit that it has left. An interval with a pause in it is never measured, but for
 * one that a launch on another thread begins and ends while the driver is given the pause: that is
 * told before the call and again after it.
 *
 * The default stream of old waits for the context's other streams and they for it, but for those
 * that were made not to: what stands in one stands in the others.
 *
 * Where nothing is counted this is a load or two. Nothing here waits for anybody, or makes a lane:
 * a stream that has none gets one that begins anew. Any thread; in a forked child there are no
 * lanes.
 */
#ifndef ALIQUOT_SHIM_CUDA_PAUSE_H
#define ALIQUOT_SHIM_CUDA_PAUSE_H

#include "abi/cuda.h"
#include "shim/cuda/lane.h"

struct pause {
        CUcontext context; /* NULL: nothing to be told */
        CUstream stream;   /* with the default stream spelt out */
        enum lane_break how;
        bool is_in_default; /* holds the default stream, too */
};

void pause_begin(struct pause *ret, CUstream stream, enum lane_break how);

/* `rc` is the driver's answer, and what is returned. */
CUresult pause_end(const struct pause *pause, CUresult rc);

#endif
