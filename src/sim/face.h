/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's interface as something to define: every cu* function declared here is exported.
 *
 * The folder is built hidden; only what is declared between the two pragmas leaves the library.
 * Whoever defines an entry point includes this instead of abi/cuda.h.
 */
#ifndef ALIQUOT_SIM_FACE_H
#define ALIQUOT_SIM_FACE_H

#pragma GCC visibility push(default)
#include "abi/cuda.h"
#pragma GCC visibility pop

#endif
