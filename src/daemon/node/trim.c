/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/node/trim.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/machine_clock.h"
#include "daemon/node/judge_parts.h"
#include "daemon/processes/cleanup.h"

#define WAIT_NS 1000000

static void report_oversized(struct node *node, const struct sessions_one *session, uint64_t bytes,
                             unsigned times)
{
        char detail[96];

        snprintf(detail, sizeof(detail), "{\"owner\":%u,\"bytes\":%llu,\"times\":%u}",
                 session->owner_uid, (unsigned long long)bytes, times);
        answer_tell(node, "oversized", session, detail);
}

static void signal_oversized(struct node *node, const struct sessions_one *session)
{
        const uint32_t policy = node->watch->forged;
        const struct folder_signal signal = { .number = policy == WATCH_KILL ? SIGKILL : SIGTERM,
                                              .is_repeated = true };

        if (policy == WATCH_KILL || policy == WATCH_TERM)
                node_hunt(node, session, &signal);
}

/* Reports a file that was too large, and signals the session's programs. This includes a file that
 * could not be truncated. */
static void judge_cut(struct node *node, unsigned place, const struct cleanup_cut *cut)
{
        const struct sessions_one *session = &node->sessions->session[place];
        unsigned times;

        if (session->state == SESSIONS_FREE ||
            memcmp(session->id, cut->id, sizeof(session->id)) != 0)
                return;
        times = ++node->oversized[place];
        if ((times & (times - 1)) == 0) {
                if (cut->rc < 0)
                        owner_log(&node->trouble, sessions_payer(session), LOG_WARN,
                                  "session %s: slots is too large, and cannot be cut: %s",
                                  session->name, strerror(-cut->rc));
                report_oversized(node, session, cut->bytes, times);
        }
        signal_oversized(node, session);
}

/* Checks on the children and handles their results; returns whether any child has ended. */
static bool tend_cleanups(struct node *node)
{
        const bool has_ended = cleanups_tend(node->cleanups, clock_machine_ns());
        struct cleanup_cut cut;
        unsigned place;

        node->counts.slots_held = cleanups_held(node->cleanups);
        while (cleanups_take(node->cleanups, &place, &cut))
                judge_cut(node, place, &cut);
        return has_ended;
}

static void on_cleaning(evutil_socket_t fd, short what, void *context)
{
        const struct timeval pause = { .tv_usec = CLEANUP_TEND_NS / 1000 };
        struct node *node = context;

        tend_cleanups(node);
        if (cleanups_are_on(node->cleanups))
                event_add(node->cleaning, &pause);
}

/* Also checks whether children that were blocked have ended. */
void trim_all(struct node *node)
{
        cleanups_look(node->cleanups);
        if (!event_pending(node->cleaning, EV_TIMEOUT, NULL))
                on_cleaning(-1, 0, node);
}

bool trim_now(struct node *node)
{
        const struct timespec pause = { .tv_nsec = WAIT_NS };
        const uint64_t now_ns = clock_machine_ns();
        bool has_ended = false;

        if (!node->waited_ns || now_ns - node->waited_ns >= TRIM_EVERY_NS)
                node->waited_ns = now_ns;
        cleanups_look(node->cleanups);
        while (cleanups_are_on(node->cleanups) &&
               clock_machine_ns() - node->waited_ns < TRIM_WAIT_NS) {
                has_ended |= tend_cleanups(node);
                nanosleep(&pause, NULL);
        }
        return has_ended;
}

int trim_start(struct node *node)
{
        node->cleanups = cleanups_new(node->sessions, &node->store);
        node->cleaning = event_new(node->base, -1, 0, on_cleaning, node);
        return node->cleanups && node->cleaning ? 0 : -ENOMEM;
}

void trim_stop(struct node *node)
{
        if (node->cleaning)
                event_free(node->cleaning);
        cleanups_free(node->cleanups);
}
