/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stories about lanes play before: a session, the host's time, and a driver whose device has a
 * time of its own and one stream that works one piece after the other. Time passes only where a
 * story says so, or sleeps.
 */
#ifndef TESTS_UNIT_SHIM_LANE_STAGE_H
#define TESTS_UNIT_SHIM_LANE_STAGE_H

#include <stdint.h>

#include "shim/cuda/lane.h"

#define US UINT64_C(1000)
#define MS (1000 * US)
#define SECOND (1000 * MS)
#define CONTEXT ((CUcontext)(uintptr_t)64)
#define ANOTHER_CONTEXT ((CUcontext)(uintptr_t)96)
#define STREAM ((CUstream)(uintptr_t)128)

struct lane_stage {
        uint64_t now_ns;
        unsigned looks; /* at the clock */
        struct {
                unsigned look; /* after which the host is stopped; 0: never */
                uint64_t ns;
        } stop;
        struct lane *given_away; /* while somebody sleeps, by who holds it */

        uint64_t free_ns, work_ns;         /* when the stream has done all; all that it was given */
        unsigned readings;                 /* of the time between two events */
        CUresult refused;                  /* what it says instead, ... */
        unsigned refused_from, refused_to; /* ... to these readings */
        float wrong_ms;
        unsigned wrong_from, wrong_to;
        CUresult unrecorded; /* the answer to a record, if it is an error */
        uint64_t late_ns;    /* after which an event that was passed is seen to be */
        unsigned live_events;
        unsigned life;           /* of the context, which may have gone and been made again */
        void (*meanwhile)(void); /* as somebody stands in the driver, once */

        uint64_t return_ns; /* from when the device has a launch until it returns */
        struct work *work;
        struct lane *lane;
};

extern struct lane_stage stage;

/* Of each story: a hundred seconds after the one before, with nothing wrong; no event stays. */
int stage_begin(void **state);
int stage_end(void **state);

void stage_sleep_until(uint64_t deadline_ns);

/* Work that takes so long from now on, between two markers of the lane, which nobody holds. */
void stage_work(struct lane *lane, const struct marker *end, uint64_t takes_ns);

/* What the session's page says of the device; its busy_ns is all that was counted. */
struct page_meter *stage_meter(void);
uint64_t stage_billed_ns(void);

#endif
