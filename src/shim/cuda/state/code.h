/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that was looked up or launched (module.c, kernel.h). Wiped in a forked child: state.h.
 */
#ifndef ALIQUOT_SHIM_CUDA_STATE_CODE_H
#define ALIQUOT_SHIM_CUDA_STATE_CODE_H

#include <stdint.h>

#include "common/atomic.h"

#define STATE_LOOKED_UP 1024u
#define STATE_LAUNCHED 4096u

struct code_state {
        /* Functions, ... that were looked up since a module last came or went, by a hash. */
        _Atomic uint64_t looked_up[STATE_LOOKED_UP];
        /* Functions that were launched since a module last went, by a hash; 0: a free place. */
        _Atomic uint64_t launched[STATE_LAUNCHED];
};

extern struct code_state code_state;

#endif
