/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The copies of a program that load.c runs: 200 kB each, by whichever call of the driver.
 */
#pragma once

#include "load/kinds.h"

/* NULL: none has the name. Of a call's own name: a copy within the device, between memory of two
 * contexts; where the call tells what its ends are, by turns as the device's, as unified and as
 * the host's; where it can only say that one is the host's, so.
 *
 *      copies         a graph of ten such copies
 *      batch          a hundred such copies by one call
 *      both           a kernel, and a copy within the device, by turns
 *      copied, copied-3d, copied-peer   a copy from the host, or to another device, before each
 *                     kernel, by a call that does not say so
 *      copied-between, copied-2d-between   to another device, by a call that says only device
 *      peer-array, peer-arrays   into an array, and from one, by cuMemcpy3DPeerAsync, with no
 *                     context said of the array that could be one
 */
kinds_launch *copies_find(const char *name);

/* Of two contexts of the device, the current one and another; the peer's is made if there is one.
 */
void copies_prepare(struct kinds_work *work, const char *name);
