/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of module.c and kernel.h: code that was looked up or launched. Wiped in a forked child:
 * state.h.
 */
#ifndef ALIQUOT_SHIM_CUDA_STATE_CODE_H
#define ALIQUOT_SHIM_CUDA_STATE_CODE_H

#include <stdint.h>

#include "common/atomic.h"

#define STATE_LOOKED_UP 1024u
#define STATE_LAUNCHED 4096u

struct code_state {
        /* Functions and variables looked up since a module was last loaded or unloaded, at an index
         * from their hash. */
        _Atomic uint64_t looked_up[STATE_LOOKED_UP];
        /* Functions launched since a module was last unloaded, at or soon behind an index from
         * their hash; 0: a free entry. */
        _Atomic uint64_t launched[STATE_LAUNCHED];
};

extern struct code_state code_state;

#endif
