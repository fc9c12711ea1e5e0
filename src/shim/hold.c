/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/hold.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/text.h"
#include "interpose/gate.h"
#include "shim/helper.h"
#include "shim/room.h"
#include "shim/session.h"
#include "store/ask.h"

/* After this time a thread that waits at the gate checks the gate again, because the daemon may
 * have died between opening the gate and waking. It also writes again that it waits. */
#define LOOK_AGAIN_NS UINT64_C(50000000)

/* How long a thread waits before it checks whether a daemon exists, and the time between two
 * checks. */
#define ALONE_NS UINT64_C(1000000000)
/* If no thread has waited for this long, a new wait begins. */
#define LOOKS_LATE_NS (10 * LOOK_AGAIN_NS)

/* The process's own gate: 1 while it is closed. */
static uint32_t own_gate;

/* Whether the session's daemon has ended: nobody listens on the session's socket, which is
 * beside `slots`, or is the one through which this process joined. */
static bool is_daemon_gone(void)
{
        const char *slots = session_slots_file()->path;
        const char *name = strrchr(slots, '/');
        char path[STORE_PATH_BYTES];

        return name &&
               text_put(path, sizeof(path), NULL, "%.*s/socket", (int)(name - slots), slots) == 0 &&
               ask_is_deserted(path);
}

/* Writes one line if nobody can open the gate, because the program would seem to hang. While a
 * daemon's scheduler has the session, it writes the time into the page, so the socket is checked
 * only if that time is old. */
static void tell_if_alone(uint64_t now_ns)
{
        static _Atomic uint64_t since_ns, seen_ns, looked_ns;
        static _Atomic bool is_told;
        const struct limits_page *limits = session_limits();

        if (now_ns - load_relaxed(&seen_ns) > LOOKS_LATE_NS)
                store_relaxed(&since_ns, now_ns);
        store_relaxed(&seen_ns, now_ns);
        if (load_relaxed(&is_told) || now_ns - load_relaxed(&since_ns) < ALONE_NS ||
            now_ns - load_relaxed(shared_word(&limits->scheduler_at_ns)) < ALONE_NS ||
            now_ns - load_relaxed(&looked_ns) < ALONE_NS)
                return;
        store_relaxed(&looked_ns, now_ns);
        if (is_daemon_gone() && log_once(&is_told))
                log_tell("aliquot: session %s has no turn of memory, and its daemon has ended; the "
                         "program waits until aliquotd is back",
                         limits->name);
}

/* Waits until the gate's word changes, for a while at most. */
static void wait_for_end(const uint32_t *word)
{
        uint32_t seen = load_acquire(shared_half(word));

        if (!seen)
                return;
        room_stand();
        tell_if_alone(clock_now_ns());
        clock_wait(shared_half(word), seen, clock_now_ns() + LOOK_AGAIN_NS);
}

/* Makes the helper wake up when the session's gate or limits change. */
static void watch_words(const struct limits_page *limits)
{
        helper_watch(shared_half(&limits->gate));
        if (room_is_kept())
                helper_watch(shared_half(&limits->epoch));
}

/* Runs in a child of fork(): it has no memory that could be away, and no helper that watches
 * words. */
static void fork_child(void)
{
        gate_use(&session_limits()->gate, wait_for_end);
        store_release(shared_half(&own_gate), 0);
        watch_words(session_limits());
}

/* Puts the session's gate in force. Runs once: if a second thread ran it later, it would open
 * the gate that the helper has closed meanwhile. */
static void use(void)
{
        const struct limits_page *limits = session_limits();

        gate_use(&limits->gate, wait_for_end);
        if (limits->owner != PAGE_OWNER_DAEMON)
                return;
        watch_words(limits);
        pthread_atfork(NULL, NULL, fork_child);
}

void hold_use(void)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        static _Atomic bool is_used;

        if (load_acquire(&is_used) || !session_limits())
                return;
        pthread_once(&once, use);
        store_release(&is_used, true);
}

void hold_shut_own(void)
{
        store_release(shared_half(&own_gate), 1);
        gate_use(&own_gate, wait_for_end);
}

void hold_open_own(void)
{
        gate_use(&session_limits()->gate, wait_for_end);
        store_release(shared_half(&own_gate), 0);
        clock_wake(shared_half(&own_gate), INT_MAX);
}

bool hold_is_own(void)
{
        return load_acquire(shared_half(&own_gate)) != 0;
}

bool hold_stands_at_end(void)
{
        if (!hold_is_own())
                return false;
        room_stand();
        return true;
}
