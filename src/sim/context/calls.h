/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the calls of each driver function, by session tag and by calling object, with calls=on.
 *
 * The caller is the loaded object to which the call returns: either Aliquot's library, which is
 * recognised by a symbol that all its builds export, or else the program. Calls within the driver
 * itself are not counted. If the library forwards a program's call by calling the driver, the call
 * counts as the library's; if it jumps to the driver, the call counts as the program's. So the
 * number of calls that the library adds is the sum of both, minus the sum for the same program
 * without the library.
 */
#ifndef ALIQUOT_SIM_CONTEXT_CALLS_H
#define ALIQUOT_SIM_CONTEXT_CALLS_H

#include "sim/node/fault.h"

/* Counts a call, after node_attach(). Any thread. */
void calls_count(struct api_site *site, const void *caller);

#endif
