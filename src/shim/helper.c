/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/helper.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "shim/lock.h"

#define PAGE_BYTES 4096u
#define STACK_BYTES (256u << 10)

enum { HELPER_NONE, HELPER_STARTING, HELPER_RUNS, HELPER_FAILED };

struct helper {
        _Atomic uint32_t state;
        _Atomic uint32_t is_wiped_at_fork;
        _Atomic uint32_t bell;      /* futex word */
        _Atomic uint32_t is_asleep; /* without end */
        _Atomic uint32_t is_over;   /* the program exits */
        struct lock working;
        helper_task *task;
};

static union {
        struct helper parts;
        unsigned char page[PAGE_BYTES];
} store __attribute__((aligned(PAGE_BYTES)));

extern struct helper helper __attribute__((alias("store")));

/* The driver may be gone after this. */
static void at_program_end(void)
{
        store_release(&helper.is_over, 1);
        if (load_acquire(&helper.state) != HELPER_RUNS)
                return;
        lock_take(&helper.working);
        lock_drop(&helper.working);
}

static void *helper_main(void *unused)
{
        pthread_setname_np(pthread_self(), "aliquot");
        for (;;) {
                uint32_t seen = load_acquire(&helper.bell);
                uint64_t next_ns;

                lock_take(&helper.working);
                next_ns = load_acquire(&helper.is_over) ? CLOCK_NEVER : helper.task(clock_now_ns());
                lock_drop(&helper.working);
                store_release(&helper.is_asleep, next_ns == CLOCK_NEVER);
                clock_wait(&helper.bell, seen, next_ns);
                store_release(&helper.is_asleep, 0);
        }
        return unused;
}

static bool start(void)
{
        pthread_attr_t attributes;
        sigset_t all, old;
        pthread_t thread;
        bool is_started;

        if (pthread_attr_init(&attributes) != 0)
                return false;
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        pthread_attr_setstacksize(&attributes, STACK_BYTES);
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &old);
        is_started = pthread_create(&thread, &attributes, helper_main, NULL) == 0;
        pthread_sigmask(SIG_SETMASK, &old, NULL);
        pthread_attr_destroy(&attributes);
        return is_started;
}

static bool start_once(helper_task *task)
{
        static _Atomic uint32_t is_registered;
        uint32_t expected = HELPER_NONE;
        bool is_started;

        if (!load_relaxed(&helper.is_wiped_at_fork)) {
                madvise(&store, sizeof(store), MADV_WIPEONFORK);
                store_relaxed(&helper.is_wiped_at_fork, 1);
        }
        if (!cas_acq_rel(&helper.state, &expected, HELPER_STARTING))
                return expected == HELPER_RUNS;
        if (!swap_acq_rel(&is_registered, 1))
                atexit(at_program_end);
        helper.task = task;
        is_started = start();
        store_release(&helper.state, is_started ? HELPER_RUNS : HELPER_FAILED);
        return is_started;
}

bool helper_kick(helper_task *task)
{
        int saved = errno;
        bool is_running = load_acquire(&helper.state) == HELPER_RUNS || start_once(task);

        errno = saved;
        if (!is_running)
                return false;
        if (load_acquire(&helper.is_asleep)) {
                add_acq_rel(&helper.bell, 1);
                clock_wake(&helper.bell, 1);
        }
        return true;
}
