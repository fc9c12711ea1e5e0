/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program does over and over, word by word (load.c, kind=script do="WORD ..." [threads=N]),
 * in two streams of its own, of which it uses the first until it says otherwise:
 *
 *      kNS             a kernel that takes so long: ns, or k20u, k5m
 *      g               a graph of ten kernels that take as long as load.c says
 *      s c e           waits for the stream, for the context, for an event recorded now
 *      p               waits for the event recorded at the p before, and records one
 *      q t             asks once whether the stream is idle; asks until it is
 *      h d             an asynchronous copy from the host, and to it
 *      H D M           one that returns when it is done; M by cuMemcpy
 *      0 1             goes on in that stream
 *      l T             the first one is the default stream from now on, or the thread's own
 *      o               goes on in one that this thread alone has, the same each time
 *      n               goes on in a new one, in place of the one it is in, which ends
 *      V               a stream of the other context is captured from now on
 *      A B             goes on in that context: the first one, another one
 *      RNS             a kernel in the primary context, which has one user more meanwhile
 *      XNS             one in a context of its own, destroyed behind the launch
 *      ZNS             the same, behind a wait for the host, which lasts when it is destroyed
 *      yNS             a host function that takes so long, or y: none
 *      v               a wait for a word that is there
 *      z               a copy of nothing from the device
 *      YNS             a kernel in the default stream of a thread that then ends
 *      CNS             one in a stream that is destroyed while it is captured
 *      F               a child that shares the program's memory exits
 *      wNS             the host does something else for so long
 *      9*WORD          nine times
 *      |               what stands before it was played once; what follows is, over and over
 */
#pragma once

#include "load/kinds.h"

/* In the current context. Another script than these words ends the program. */
void script_prepare(const char *text);

/* The next word. */
CUresult script_go_on(struct kinds_work *work);

/* So many threads play it in the same streams, the calling one among them, until the end. */
void script_share(struct kinds_work *work, unsigned threads);
void script_end(void);
