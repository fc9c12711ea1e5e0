/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entry points that come in two forms: for the legacy default stream, and per thread (_ptsz,
 * _ptds).
 *
 *      static CUresult query(bool is_per_thread, CUstream stream) { ... }
 *      ENTRY_PAIR(cuStreamQuery, _ptsz, query, (CUstream stream), stream)
 *
 * defines both exported functions, each with its own API_ENTER.
 */
#ifndef ALIQUOT_SIM_ENTRY_H
#define ALIQUOT_SIM_ENTRY_H

#include "sim/node/fault.h"

#include <stdbool.h>

#define ENTRY_PAIR(name, suffix, body, parameters, ...) \
        CUresult name parameters                        \
        {                                               \
                API_ENTER(name);                        \
                return body(false, __VA_ARGS__);        \
        }                                               \
        CUresult name##suffix parameters                \
        {                                               \
                API_ENTER(name##suffix);                \
                return body(true, __VA_ARGS__);         \
        }

#endif
