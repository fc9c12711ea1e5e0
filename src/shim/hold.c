/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads may install the hold word at once: it is the same word, so that is harmless.
 * `is_used` only avoids repeated work. */
#include "shim/hold.h"

#include "common/atomic.h"
#include "common/clock.h"
#include "interpose/gate.h"
#include "shim/helper.h"
#include "shim/session.h"

/* An owner that died between opening the gate and waking is noticed after this long. */
#define LOOK_AGAIN_NS UINT64_C(50000000)

static void wait_for_end(const uint32_t *word)
{
        uint32_t seen = load_acquire(shared_half(word));

        if (seen)
                clock_wait(shared_half(word), seen, clock_now_ns() + LOOK_AGAIN_NS);
}

void hold_use(void)
{
        static _Atomic bool is_used;
        const struct limits_page *limits;

        if (load_relaxed(&is_used))
                return;
        limits = session_limits();
        if (!limits)
                return;
        gate_use(&limits->gate, wait_for_end);
        if (limits->owner == PAGE_OWNER_DAEMON)
                helper_watch(shared_half(&limits->gate));
        store_relaxed(&is_used, true);
}
