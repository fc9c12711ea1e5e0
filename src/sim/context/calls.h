/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often each function of the driver is called, by session tag and by whose code called it, with
 * calls=on.
 *
 * The caller is the loaded object that the call returns to: Aliquot's library, known by the symbol
 * that every one of its builds exports, or else the program. The driver's own calls of itself are
 * not counted. A call that the library passes on for the program is the library's if the library
 * called, and the program's if it jumped: what the library adds to a program is the sum of both,
 * less the sum of the same program without it.
 */
#ifndef ALIQUOT_SIM_CONTEXT_CALLS_H
#define ALIQUOT_SIM_CONTEXT_CALLS_H

#include "sim/node/fault.h"

/* After node_attach(). Any thread. */
void calls_count(struct api_site *site, const void *caller);

#endif
