/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedules an event for work that is done once in a turn of the event loop.
 *
 * The event is a timer that is due at once, so it runs in the next turn, after every other event
 * that is ready then. An event that was made active instead would run again before the loop polls
 * for others. If the timer is already due, it is not added again: libevent would postpone it, so
 * work that arrives in every turn would postpone it for ever.
 */
#ifndef ALIQUOT_DAEMON_BASE_TURN_H
#define ALIQUOT_DAEMON_BASE_TURN_H

#include <event2/event.h>

static inline void turn_come(struct event *event)
{
        static const struct timeval at_once;

        if (!event_pending(event, EV_TIMEOUT, NULL))
                event_add(event, &at_once);
}

#endif
