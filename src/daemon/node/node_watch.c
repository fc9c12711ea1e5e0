/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the node's timers: due steps, ending sessions, leftover folders, the database's files, and
 * the sizes of `slots` files.
 *
 * The core says when the next tick is due, on the wall clock; if that clock is set, the timerfd
 * reports it, and the next tick is computed again. Only of ending sessions it matters whether a
 * process lives: up to LOOKS ending sessions are checked every LOOK_NS, so that a large number of
 * them causes little load.
 */
#include "daemon/node/node_parts.h"

#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/machine_clock.h"
#include "daemon/node/trim.h"

#define LOOK_NS 100000000 /* between two checks of ending sessions */
#define LOOKS 16u         /* maximum number of sessions in one check */
#define ROUND_SECONDS 30  /* between two searches for leftover folders */
/* between two checks of the database's files and of the sizes of `slots` */
#define PLACE_SECONDS 1

/* -- The clock -------------------------------------------------------------------------------- */

void node_arm(struct node *node)
{
        uint64_t next_ns = sessions_next_ns(node->sessions);
        struct itimerspec when = { .it_value = { (time_t)(next_ns / NODE_SECOND_NS),
                                                 (long)(next_ns % NODE_SECOND_NS) } };

        if (node->clock < 0)
                return;
        if (next_ns > 0 && !when.it_value.tv_sec && !when.it_value.tv_nsec)
                when.it_value.tv_nsec = 1;
        timerfd_settime(node->clock, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &when, NULL);
}

/* Also runs when the clock was set: then it may be that nothing is due, or many sessions. */
static void on_due(evutil_socket_t fd, short what, void *context)
{
        struct node *node = context;
        uint64_t count;

        if (read(fd, &count, sizeof(count)) < 0 && errno == EAGAIN)
                return;
        node_tick(node);
        node_arm(node);
}

/* -- Living processes ------------------------------------------------------------------------- */

static bool is_ending(const struct sessions_one *one)
{
        return one->state == SESSIONS_ENDING || one->state == SESSIONS_KILLING;
}

static void on_looking(evutil_socket_t fd, short what, void *context)
{
        struct node *node = context;
        const struct sessions *all = node->sessions;
        const uint64_t until_ns = clock_machine_ns() + NODE_TURN_NS;
        unsigned from = node->look_from, seen = 0;

        for (unsigned i = 0; i < all->entries && seen < LOOKS; i++) {
                const struct sessions_one *one = &all->session[(from + i) % all->entries];

                if (!is_ending(one))
                        continue;
                if (seen++ && clock_machine_ns() >= until_ns)
                        break;
                node->look_from = (unsigned)(one - all->session) + 1;
                node_look_after(node, one);
        }
}

static void order_soon(struct node *node)
{
        static const struct timeval now = { 0 };

        if (!event_pending(node->soon, EV_TIMEOUT, NULL))
                event_add(node->soon, &now);
}

void node_look(struct node *node, const char *name)
{
        const struct sessions_one *session = sessions_find(node->sessions, name);

        if (!session || !is_ending(session))
                return;
        node->must_look[session - node->sessions->session] = true;
        order_soon(node);
}

static void on_soon(evutil_socket_t fd, short what, void *context)
{
        struct node *node = context;
        const struct sessions *all = node->sessions;
        const uint64_t until_ns = clock_machine_ns() + NODE_TURN_NS;
        unsigned seen = 0;

        for (unsigned i = 0; i < all->entries; i++) {
                if (!node->must_look[i])
                        continue;
                if (seen++ && clock_machine_ns() >= until_ns) {
                        order_soon(node);
                        return;
                }
                node->must_look[i] = false;
                if (is_ending(&all->session[i]))
                        node_look_after(node, &all->session[i]);
        }
}

/* -- Signals ---------------------------------------------------------------------------------- */

static void on_hunting(evutil_socket_t fd, short what, void *context)
{
        const struct timeval pause = { .tv_usec = HUNT_TEND_NS / 1000 };
        struct node *node = context;

        node->counts.signals += hunts_tend(node->hunts, clock_machine_ns());
        if (hunts_are_on(node->hunts))
                event_add(node->hunting, &pause);
}

/* Sends the signal later, so that the processes of a user's sessions that end together are searched
 * for together. */
void node_hunt(struct node *node, const struct sessions_one *session,
               const struct folder_signal *signal)
{
        static const struct timeval now = { 0 };

        hunts_order(node->hunts, session, signal);
        if (!event_pending(node->hunting, EV_TIMEOUT, NULL))
                event_add(node->hunting, &now);
}

/* -- Slow checks ------------------------------------------------------------------------------ */

static void on_round(evutil_socket_t fd, short what, void *context)
{
        struct node *node = context;

        if (node->has_leftovers)
                node_sweep(node);
}

/* Writes a missing database again at once, and not only when the next session is saved. */
static void on_placing(evutil_socket_t fd, short what, void *context)
{
        struct node *node = context;

        database_look(node->database, NULL);
        trim_all(node);
}

/* -- Start and stop --------------------------------------------------------------------------- */

int node_watch_start(struct node *node, struct error *err)
{
        const struct timeval look_every = { .tv_usec = LOOK_NS / 1000 };
        const struct timeval round_every = { .tv_sec = ROUND_SECONDS };
        const struct timeval place_every = { .tv_sec = PLACE_SECONDS };

        node->clock = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
        if (node->clock < 0)
                return fail(err, -errno, "a timer: %m");
        node->due = event_new(node->base, node->clock, EV_READ | EV_PERSIST, on_due, node);
        node->looking = event_new(node->base, -1, EV_PERSIST, on_looking, node);
        node->soon = event_new(node->base, -1, 0, on_soon, node);
        node->rounds = event_new(node->base, -1, EV_PERSIST, on_round, node);
        node->placing = event_new(node->base, -1, EV_PERSIST, on_placing, node);
        node->hunts = hunts_new(node->sessions, &node->store);
        node->hunting = event_new(node->base, -1, 0, on_hunting, node);
        if (trim_start(node) < 0 || !node->hunts || !node->hunting || !node->due ||
            !node->looking || !node->soon || !node->rounds || !node->placing ||
            event_add(node->due, NULL) < 0 || event_add(node->looking, &look_every) < 0 ||
            event_add(node->rounds, &round_every) < 0 || event_add(node->placing, &place_every) < 0)
                return fail(err, -ENOMEM, "out of memory");
        return 0;
}

void node_watch_stop(struct node *node)
{
        struct event *events[] = { node->due,    node->looking, node->soon,
                                   node->rounds, node->placing, node->hunting };

        for (unsigned i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
                if (events[i])
                        event_free(events[i]);
        }
        hunts_free(node->hunts);
        trim_stop(node);
        if (node->clock >= 0)
                close(node->clock);
}
