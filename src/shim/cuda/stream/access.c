/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits at the session's gate, for calls that are no submissions.
 */
#include "shim/cuda/stream/access.h"

#include "common/clock.h"
#include "shim/cuda/place/front.h"
#include "shim/time/fence.h"
#include "shim/time/time.h"

/* Whether a daemon may hold the session. Only then must the helper run, which answers holds. */
static bool may_be_held(void)
{
        const struct limits_page *limits = session_limits();

        return limits && limits->owner == PAGE_OWNER_DAEMON;
}

/* While a thread waits here, it does not count as being inside a driver call, so a hold does not
 * wait for it. If another hook of the thread is in progress, the thread does not wait. */
void access_wait(void)
{
        struct credit *credit = &credit_here;

        if (credit->number && load_relaxed(&credit->caller->calls) > 1)
                return;
        do {
                credit_leave(credit);
                front_start();
                if (threads_join() && may_be_held())
                        tend_soon();
                streams_mark_in_hold();
                gate_wait();
                credit_enter(credit);
        } while (gate_is_shut());
}

bool access_pause(void)
{
        struct credit *credit = &credit_here;

        if (!credit->number || load_relaxed(&credit->caller->calls) != 1)
                return false;
        credit_leave(credit);
        return true;
}

void access_resume(void)
{
        access_begin();
}

void access_sleep_ns(uint64_t ns)
{
        bool is_paused = access_pause();

        clock_sleep_ns(ns);
        if (is_paused)
                access_resume();
}

bool access_try(void)
{
        if (credit_here.caller->owner != &credit_here && !threads_join())
                return false;
        credit_enter(&credit_here);
        if (!gate_is_shut())
                return true;
        credit_leave(&credit_here);
        return false;
}

void access_leave_to(CUstream stream)
{
        struct time_stream *of = submission_stream(stream);

        if (of)
                stream_touch(of);
}
