/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real time, or the node's virtual time. A real sleep ends with polling, since timers on a busy
 * machine are 50 us late.
 */
#include "sim/node/clock.h"

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/time_namespace.h"
#include "sim/node/authority.h"
#include "sim/node/config.h"
#include "sim/node/mix.h"

#define SPIN_NS 60000
#define CALL_NS 1000

static struct authority *_Atomic followed;
/* the calling thread executes queued work */
static __thread bool is_of_device __attribute__((tls_model("initial-exec")));

void clock_follow_node(struct authority *authority)
{
        store_release(&followed, authority);
}

struct authority *clock_authority(void)
{
        return load_acquire(&followed);
}

uint64_t sim_now_ns(void)
{
        struct authority *authority = clock_authority();

        return __builtin_expect(authority != NULL, 0) ? authority_now(authority)
                                                      : clock_shared_ns();
}

void sim_sleep_until(uint64_t deadline_ns)
{
        struct authority *authority = clock_authority();
        uint64_t now_ns;

        if (authority) {
                authority_wait(authority, NULL, 0, 0, deadline_ns);
                return;
        }
        now_ns = clock_shared_ns();
        while (now_ns + SPIN_NS < deadline_ns) {
                struct timespec wake = clock_timespec(clock_own_ns(deadline_ns - SPIN_NS));

                clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL);
                now_ns = clock_shared_ns();
        }
        while (now_ns < deadline_ns)
                now_ns = clock_shared_ns();
}

void sim_spend(uint64_t duration_ns)
{
        if (duration_ns > 0)
                sim_sleep_until(sim_now_ns() + duration_ns);
}

void sim_spend_call(uint64_t min_ns)
{
        if (clock_authority() && min_ns < CALL_NS)
                min_ns = CALL_NS;
        sim_spend(min_ns);
}

void sim_wait(const _Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns,
              enum sim_reach reach)
{
        struct authority *authority = clock_authority();
        struct timespec deadline = clock_timespec(clock_own_ns(deadline_ns));

        if (authority)
                authority_wait(authority, word, expected,
                               authority_word(word, reach == REACH_PROCESS), deadline_ns);
        else
                syscall(SYS_futex, word,
                        FUTEX_WAIT_BITSET | (reach == REACH_PROCESS ? FUTEX_PRIVATE_FLAG : 0),
                        expected, deadline_ns == SIM_NEVER ? NULL : &deadline, NULL,
                        FUTEX_BITSET_MATCH_ANY);
}

void sim_wake(const _Atomic uint32_t *word, uint32_t count, enum sim_reach reach)
{
        struct authority *authority = clock_authority();

        if (authority)
                authority_wake(authority, authority_word(word, reach == REACH_PROCESS), count);
        else
                syscall(SYS_futex, word,
                        FUTEX_WAKE | (reach == REACH_PROCESS ? FUTEX_PRIVATE_FLAG : 0),
                        count < INT_MAX ? count : INT_MAX, NULL, NULL, 0);
}

/* Returns a delay from 0 to `max_ns`, evenly distributed. Every process gets the same sequence of
 * numbers. */
static uint64_t drawn_ns(uint64_t max_ns)
{
        static _Atomic uint64_t draws;

        return hash_mix(0, add_relaxed(&draws, 1)) % (max_ns + 1);
}

void sim_wake_up(void)
{
        const struct sim_config *config = config_get();
        uint64_t late_ns;

        if (!clock_authority() || is_of_device)
                return;
        late_ns = config->wake_ns;
        if (config->wake_spread_ns)
                late_ns += drawn_ns(config->wake_spread_ns);
        sim_spend(late_ns);
}

uint64_t sim_spin_end_ns(uint64_t spin_ns)
{
        return sim_now_ns() + (clock_authority() ? 0 : spin_ns);
}

void sim_take_part(void)
{
        struct authority *authority = clock_authority();

        if (authority)
                authority_join(authority, TIME_FOREGROUND, config_get()->begin_with);
}

uint32_t sim_thread_expect(void)
{
        struct authority *authority = clock_authority();

        return authority ? authority_expect(authority, TIME_FOREGROUND) : AUTHORITY_NOBODY;
}

void sim_thread_forget(uint32_t party)
{
        if (party != AUTHORITY_NOBODY)
                authority_forget(clock_authority(), party);
}

void sim_thread_begin(uint32_t party)
{
        is_of_device = true;
        if (party != AUTHORITY_NOBODY)
                authority_begin(clock_authority(), party);
}

void sim_thread_end(void)
{
        struct authority *authority = clock_authority();

        if (authority)
                authority_leave(authority);
}
