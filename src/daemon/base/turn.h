/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event for what is done once in a turn of the event loop.
 *
 * A timer that is due at once runs in the next turn, after every other event that is ready then; an
 * event that is made active would run again before the loop looks for others. One that is due
 * already is left: libevent takes a timer that is about to run back when it is added again, so work
 * that arrives in every turn would put it off for ever.
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
