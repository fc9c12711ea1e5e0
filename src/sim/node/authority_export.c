/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Offers the node's virtual time to other code in the process: common/time_authority.h.
 *
 * If the time is requested before the driver is initialised, the node is not mapped yet, and is
 * opened or created at that time. If that fails, no function of the simulator will work, and the
 * machine's real time is used.
 */
#include "common/time_authority.h"

#include <pthread.h>
#include <stddef.h>

#include "common/atomic.h"
#include "sim/node/clock.h"
#include "sim/node/config.h"
#include "sim/node/node.h"

static void find_node(void)
{
        if (!clock_authority())
                (void)node_open();
}

static struct authority *authority(void)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;

        pthread_once(&once, find_node);
        return clock_authority();
}

static uint64_t now_ns(void)
{
        (void)authority();
        return sim_now_ns();
}

static void sleep_until(uint64_t deadline_ns)
{
        (void)authority();
        if (deadline_ns <= sim_now_ns())
                return;
        sim_sleep_until(deadline_ns);
        sim_wake_up();
}

struct export_awaited {
        const _Atomic uint32_t *const *word;
        const uint32_t *expected;
        unsigned count;
};

static bool has_changed(const struct export_awaited *awaited)
{
        for (unsigned i = 0; i < awaited->count; i++) {
                if (load_acquire(awaited->word[i]) != awaited->expected[i])
                        return true;
        }
        return false;
}

static bool will_rest(struct authority *time, const struct export_awaited *awaited,
                      uint64_t deadline_ns)
{
        return !has_changed(awaited) && deadline_ns > authority_now(time);
}

/* Ends a wait. A thread that returned early without a change of its words will wait again; only one
 * whose words changed has the configured delay. */
static void end_rest(const struct export_awaited *awaited, bool is_early)
{
        if (!is_early || has_changed(awaited))
                sim_wake_up();
}

static bool wait(const _Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns)
{
        struct authority *time = authority();
        struct export_awaited awaited = { &word, &expected, 1 };
        bool is_early, is_resting;

        if (!time) {
                sim_wait(word, expected, deadline_ns, REACH_NODE);
                return sim_now_ns() < deadline_ns;
        }
        is_resting = will_rest(time, &awaited, deadline_ns);
        is_early = authority_wait(time, word, expected, authority_word(word, false), deadline_ns);
        if (is_resting)
                end_rest(&awaited, is_early);
        return is_early;
}

static void wake(const _Atomic uint32_t *word, uint32_t count)
{
        (void)authority();
        sim_wake(word, count, REACH_NODE);
}

static void join(enum time_role role)
{
        struct authority *time = authority();

        if (time)
                authority_join(time, role, config_get()->begin_with);
}

static void leave(void)
{
        if (authority())
                sim_thread_end();
}

static bool wait_any(const _Atomic uint32_t *const word[], const uint32_t expected[],
                     unsigned count, uint64_t deadline_ns)
{
        struct authority *time = authority();
        struct export_awaited awaited = { word, expected, count };
        bool is_early, is_resting;

        if (!time)
                return wait(word[0], expected[0], deadline_ns);
        is_resting = will_rest(time, &awaited, deadline_ns);
        is_early = authority_wait_any(time, word, expected, count, deadline_ns);
        if (is_resting)
                end_rest(&awaited, is_early);
        return is_early;
}

static uint32_t expect(enum time_role role)
{
        struct authority *time = authority();

        return time ? authority_expect(time, role) : TIME_NOBODY;
}

static void begin(uint32_t expected)
{
        authority_begin(authority(), expected);
}

static void forget(uint32_t expected)
{
        authority_forget(authority(), expected);
}

__attribute__((visibility("default"))) time_authority_find aliquot_sim_time_authority;

const struct time_authority *aliquot_sim_time_authority(uint32_t version)
{
        static const struct time_authority table = {
                TIME_AUTHORITY_VERSION,
                sizeof(table),
                now_ns,
                sleep_until,
                wait,
                wake,
                join,
                leave,
                wait_any,
                expect,
                begin,
                forget,
        };
        const struct sim_config *config = config_peek();

        if (version != TIME_AUTHORITY_VERSION || !config || !config->is_clock_virtual)
                return NULL;
        return &table;
}
