/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A *burst*: what a thread launches in a stream from one wait for it to the next. What is launched
 * last before a wait is like nothing else in a program (the long kernel of a step, often), so that
 * neither a marker before a later launch nor a launch picked at random would tell of it.
 *
 *      burst_end();    // the program is about to wait for it, or asks whether it is over
 *
 * What else ends it: a copy that returns when it is done, a pause behind it in the stream
 * (pause.h), the stream's own end, and, where there is a cap to be kept, a launch of the thread in
 * another stream. Of a stream that several threads launch in, and of several streams in turns,
 * there are none.
 *
 * A burst is measured whole: markers from its first launch on, and one as the wait begins. One that
 * takes a millisecond or more always is. Of shorter ones some are, picked at random before they
 * begin, and those in between, which cost no marker and no passage but for more credit, are charged
 * what the one takes, each: right over many of them, whatever the program mixes. What of such a one
 * is measured in any case (a graph, a long kernel) is no part of that. Behind a pause, where the
 * stream is measured anew anyway, each burst is, and tells of no others.
 *
 * A program that does something else for a while and then waits finds the stream idle, and nobody
 * knows since when. Of its bursts one in some is picked, however long they are, and has a marker
 * behind each launch.
 *
 * Nothing here waits: where somebody else holds the lane, or the driver would not be asked (a
 * capture), the burst goes unmeasured. Any thread. A program that waits by no call of the driver
 * has no bursts, and is sampled launch by launch (scene.c).
 */
#ifndef ALIQUOT_SHIM_CUDA_BURST_H
#define ALIQUOT_SHIM_CUDA_BURST_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/credit.h"
#include "shim/cuda/lane.h"

/* A launch of the thread since its last wait went to that lane; the lane is held. */
bool burst_is_open(const struct credit *credit, const struct lane *lane);

/* The lane is held, and the first launch of a burst comes, or any later one: false if no marker is
 * wanted for it. */
bool burst_is_measured(struct lane *lane, bool is_open);

void burst_close(struct credit *credit);

static inline void burst_end(void)
{
        if (credit_here.lane && !credit_here.is_any)
                burst_close(&credit_here);
}

#endif
