/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See pause.h.
 */
#include "shim/cuda/pause.h"

#include <stddef.h>

#include "shim/credit.h"
#include "shim/cuda/ask.h"
#include "shim/cuda/burst.h"
#include "shim/cuda/credits.h"
#include "shim/cuda/front.h"
#include "shim/cuda/lanes.h"
#include "shim/cuda/real.h"

/* With that of old. */
static bool is_ordered_with_default(CUstream stream)
{
        unsigned int flags = CU_STREAM_NON_BLOCKING;

        return real.cuStreamGetFlags(stream, &flags) == CUDA_SUCCESS &&
               !(flags & CU_STREAM_NON_BLOCKING);
}

static void tell_lane(const struct pause *pause, CUstream stream)
{
        struct lane *lane = lane_peek(pause->context, stream);

        if (lane)
                lane_break(lane, pause->how);
}

static void tell(const struct pause *pause)
{
        if (pause->stream == CU_STREAM_LEGACY) {
                lanes_break(pause->context, pause->how);
                return;
        }
        tell_lane(pause, pause->stream);
        if (pause->is_in_default)
                tell_lane(pause, CU_STREAM_LEGACY);
}

/* What was launched since the newest marker ends here, if it is to be measured. */
static void end_here(struct lane *lane, const struct pause *pause)
{
        struct relaxed was;

        if (credit_here.lane == (uintptr_t)lane) {
                burst_end();
                credit_return();
        }
        if (!load_relaxed(&lane->since) || load_acquire(&lane->broken) != LANE_WHOLE ||
            !lane_try_of(lane, pause->context, pause->stream))
                return;
        was = relax();
        if (!may_be_capturing(pause->stream)) {
                lane_reap(lane);
                if (lane_is_pending(lane))
                        lane_mark_since(lane);
        }
        unrelax(was);
        lane_drop(lane);
}

void pause_begin(struct pause *ret, CUstream stream, enum lane_break how)
{
        struct lane *lane;

        *ret = (struct pause){ .stream = stream, .how = how };
        if (credit_here.is_any || !load_acquire(&lanes.high))
                return;
        ret->context = context_of_stream(stream);
        if (!ret->context)
                return;
        if (stream == CU_STREAM_LEGACY)
                burst_end();
        lane = lane_peek(ret->context, stream);
        if (lane)
                end_here(lane, ret);
        ret->is_in_default = lane_peek(ret->context, CU_STREAM_LEGACY) != NULL &&
                             is_ordered_with_default(stream);
        tell(ret);
}

CUresult pause_end(const struct pause *pause, CUresult rc)
{
        if (pause->context)
                tell(pause);
        return rc;
}
