/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/helper.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/clock.h"
#include "common/minmax.h"
#include "common/wiped.h"
#include "shim/lock.h"
#include "shim/maker.h"

/* How often words are read if the kernel cannot wait for several words. */
#define WATCH_NS UINT64_C(50000000)
/* Maximum number of words of helper_watch(). */
#define WATCHED 2u

enum { HELPER_NONE, HELPER_STARTING, HELPER_RUNS };

struct helper {
        _Atomic uint32_t state;
        _Atomic uint32_t bell;      /* futex word that helper_kick() changes */
        _Atomic uint32_t is_asleep; /* the helper sleeps without a time */
        _Atomic uint32_t is_over;   /* the program exits, so no task runs any more */
        /* the process that runs the helper; another process that shares our memory may exit
         * before this one */
        _Atomic uint32_t process;
        /* held while the task runs */
        struct lock working;
        helper_task *task;
        const _Atomic uint32_t *_Atomic watched[WATCHED];
        helper_question *_Atomic is_unfinished;
};

WIPED_AT_FORK(struct helper, helper);

static _Thread_local bool is_helper __attribute__((tls_model("initial-exec")));

bool helper_is_this(void)
{
        return is_helper;
}

void helper_watch(const _Atomic uint32_t *word)
{
        unsigned at = 0;

        while (at + 1 < WATCHED && load_acquire(&helper.watched[at]) &&
               load_acquire(&helper.watched[at]) != word)
                at++;
        store_release(&helper.watched[at], word);
}

void helper_finish(helper_question *is_unfinished)
{
        store_release(&helper.is_unfinished, is_unfinished);
}

/* The words that wake the helper, and their values before the task ran. */
struct helper_watch {
        const _Atomic uint32_t *word[1 + WATCHED]; /* the bell is the first */
        uint32_t seen[1 + WATCHED];
};

static struct helper_watch list_watched(void)
{
        struct helper_watch watch = { .word = { &helper.bell } };

        for (unsigned i = 0; i < WATCHED; i++)
                watch.word[1 + i] = load_acquire(&helper.watched[i]);
        for (unsigned i = 0; i <= WATCHED && watch.word[i]; i++)
                watch.seen[i] = load_acquire(watch.word[i]);
        return watch;
}

/* Sleeps until a word changes or the time has come. If the kernel cannot wait for several words,
 * sleeps at most WATCH_NS, so that the words are read again. */
static void rest_until(const struct helper_watch *watch, uint64_t until_ns)
{
        unsigned count = 1;
        uint64_t look_ns;

        while (count <= WATCHED && watch->word[count])
                count++;
        if (count == 1) {
                clock_wait(watch->word[0], watch->seen[0], until_ns);
        } else if (clock_wait_any(watch->word, watch->seen, count, until_ns) == -ENOSYS) {
                look_ns = clock_now_ns() + WATCH_NS;
                clock_wait(watch->word[0], watch->seen[0], min_u64(until_ns, look_ns));
        }
}

/* Stops the helper, because the driver may be gone after the program's end. If the task is in
 * the middle of work, this thread runs the task until it is done. */
static void at_program_end(void)
{
        helper_question *is_unfinished;

        if (load_relaxed(&helper.process) != (uint32_t)getpid())
                return;
        store_release(&helper.is_over, 1);
        if (load_acquire(&helper.state) != HELPER_RUNS)
                return;
        lock_take(&helper.working);
        is_unfinished = load_acquire(&helper.is_unfinished);
        while (is_unfinished && is_unfinished()) {
                struct helper_watch seen = list_watched();

                rest_until(&seen, min_u64(helper.task(clock_now_ns()), clock_now_ns() + WATCH_NS));
        }
        lock_drop(&helper.working);
}

static void *helper_main(void *expected)
{
        is_helper = true;
        prctl(PR_SET_NAME, "aliquot");
        prctl(PR_SET_TIMERSLACK, 1UL);
        clock_begin((uint32_t)(uintptr_t)expected, TIME_BACKGROUND);
        for (;;) {
                struct helper_watch seen = list_watched();
                uint64_t next_ns;

                lock_take(&helper.working);
                next_ns = load_acquire(&helper.is_over) ? CLOCK_NEVER : helper.task(clock_now_ns());
                lock_drop(&helper.working);
                store_release(&helper.is_asleep, next_ns == CLOCK_NEVER);
                rest_until(&seen, next_ns);
                store_release(&helper.is_asleep, 0);
        }
        return NULL;
}

/* Starts the thread. Signals are blocked meanwhile, because the new thread inherits the calling
 * thread's signal mask. */
static bool start_helper(void)
{
        thread_maker *make = maker_find();
        pthread_attr_t attributes;
        sigset_t all, old;
        pthread_t thread;
        uint32_t expected;
        bool is_started;

        if (!make || pthread_attr_init(&attributes) != 0)
                return false;
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, &old);
        expected = clock_expect(TIME_BACKGROUND);
        is_started = make(&thread, &attributes, helper_main, (void *)(uintptr_t)expected) == 0;
        if (!is_started)
                clock_forget(expected);
        sigprocmask(SIG_SETMASK, &old, NULL);
        pthread_attr_destroy(&attributes);
        return is_started;
}

/* Starts the helper if it does not run. Returns true if this thread has started it. */
static bool start_once(helper_task *task)
{
        static _Atomic uint32_t is_registered;
        uint32_t expected = HELPER_NONE;
        bool is_started;

        wiped_mark(helper);
        if (!cas_acq_rel(&helper.state, &expected, HELPER_STARTING))
                return false;
        if (!swap_acq_rel(&is_registered, 1))
                atexit(at_program_end);
        helper.task = task;
        store_relaxed(&helper.process, (uint32_t)getpid());
        is_started = start_helper();
        store_release(&helper.state, is_started ? HELPER_RUNS : HELPER_NONE);
        return is_started;
}

bool helper_runs(void)
{
        return load_acquire(&helper.state) != HELPER_NONE && !load_relaxed(&helper.is_over);
}

bool helper_kick(helper_task *task)
{
        int saved = errno;
        bool is_started = load_acquire(&helper.state) != HELPER_RUNS && start_once(task);

        errno = saved;
        if (is_started) /* the thread begins with its task */
                return true;
        if (!helper_runs())
                return false;
        /* The bell is changed even while the helper starts or runs its task, because the task
         * may have missed the new work already. */
        add_acq_rel(&helper.bell, 1);
        /* The helper sets is_asleep, then reads the bell (in the kernel, behind a barrier). */
        fence_seq_cst();
        if (load_acquire(&helper.is_asleep))
                clock_wake(&helper.bell, 1);
        return true;
}
