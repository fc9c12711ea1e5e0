/* SPDX-License-Identifier: Apache-2.0 */
/* Racing callers give the same word, so the flag only saves them the trouble. */
#include "shim/hold.h"

#include "common/atomic.h"
#include "interpose/gate.h"
#include "shim/session.h"

void hold_use(void)
{
        static _Atomic bool is_used;
        const struct limits_page *limits;

        if (load_relaxed(&is_used))
                return;
        limits = session_limits();
        if (!limits)
                return;
        gate_use(&limits->gate, NULL);
        store_relaxed(&is_used, true);
}
