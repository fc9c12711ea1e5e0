/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/state/state.h"

#include "common/wiped.h"
#include "shim/cuda/state/captures.h"
#include "shim/cuda/state/code.h"
#include "shim/cuda/state/graphs.h"
#include "shim/cuda/state/host_frees.h"
#include "shim/cuda/state/imports.h"
#include "shim/cuda/state/mappings.h"
#include "shim/cuda/state/markers.h"
#include "shim/cuda/state/meters.h"
#include "shim/cuda/state/places.h"
#include "shim/cuda/state/primaries.h"
#include "shim/cuda/state/remainders.h"
#include "shim/cuda/state/swaps.h"

WIPED_AT_FORK(struct capture_state, capture_state);
WIPED_AT_FORK(struct code_state, code_state);
WIPED_AT_FORK(struct graph_state, graph_state);
WIPED_AT_FORK(struct host_frees_state, host_frees_state);
WIPED_AT_FORK(struct shared_state, shared_state);
WIPED_AT_FORK(struct mapping_state, mapping_state);
WIPED_AT_FORK(struct marker_state, marker_state);
WIPED_AT_FORK(struct meter_state, meter_state);
WIPED_AT_FORK(struct place_state, place_state);
WIPED_AT_FORK(struct primary_state, primary_state);
WIPED_AT_FORK(struct remainder_state, remainder_state);
WIPED_AT_FORK(struct swap_state, swap_state);

_Atomic uint32_t state_is_marked;

void state_mark_all(void)
{
        wiped_mark(capture_state);
        wiped_mark(code_state);
        wiped_mark(graph_state);
        wiped_mark(host_frees_state);
        wiped_mark(shared_state);
        wiped_mark(mapping_state);
        wiped_mark(marker_state);
        wiped_mark(meter_state);
        wiped_mark(place_state);
        wiped_mark(primary_state);
        wiped_mark(remainder_state);
        wiped_mark(swap_state);
        store_relaxed(&state_is_marked, 1);
}
