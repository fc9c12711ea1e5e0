/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts calls of each driver function, by session tag and by calling object, with calls=on.
 *
 * The caller is the loaded object to which the call returns: Aliquot's library, known by a symbol
 * that all its builds export, or else the program. The driver's own inner calls are not counted. A
 * call that the library passes on counts as the library's if the library called, and as the
 * program's if it jumped. So the calls that the library adds are the sum of both, less the sum of
 * the same program without the library.
 */
#ifndef ALIQUOT_SIM_CONTEXT_CALLS_H
#define ALIQUOT_SIM_CONTEXT_CALLS_H

#include "sim/node/fault.h"

/* After node_attach(). Any thread. */
void calls_count(struct api_site *site, const void *caller);

#endif
