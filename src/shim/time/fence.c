/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/time/fence.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/wiped.h"
#include "shim/lock.h"
#include "shim/time/credit.h"

#define CALLERS 256u

/* A part of the table. Entries are reused but their memory is never freed: a thread may call in
 * the last of its destructors. */
struct callers {
        struct caller caller[CALLERS];
        _Atomic uint32_t high;
        struct callers *_Atomic next; /* the next part; written last (release) */
};

struct threads {
        struct callers callers;
        /* this process is registered with the kernel for membarrier */
        _Atomic uint32_t is_registered;
        /* the kernel bars membarrier: each thread makes its own fence */
        _Atomic uint32_t is_barred;
        _Atomic uint32_t is_late;    /* membarrier was found to be barred at the last fence */
        _Atomic uint32_t is_crowded; /* a thread has no entry */
        struct lock lock;
        uint32_t numbers; /* how many numbers were given to threads so far */
};

WIPED_AT_FORK(struct threads, threads);

struct caller caller_unknown;
_Thread_local struct credit credit_here = { .caller = &caller_unknown };

/* Registers a function that runs when the thread ends. The C library has it since 2.18. */
extern int __cxa_thread_atexit_impl(void (*at_end)(void *), void *argument, void *library);
extern __attribute__((visibility("hidden"))) void *__dso_handle;

/* -- Threads ---------------------------------------------------------------------------------- */

/* Whether the thread is in the table. False in a forked child, where all entries are free. */
static bool is_known(const struct credit *credit)
{
        return credit->number && credit->caller->owner == credit;
}

static void at_thread_end(void *unused)
{
        struct credit *credit = &credit_here;
        struct caller *caller = credit->caller;

        (void)unused;
        if (!is_known(credit))
                return;
        credit->caller = &caller_unknown;
        credit->number = 0;
        credit->left = 0;
        lock_take(&threads.lock);
        store_relaxed(&caller->calls, 0);
        caller->owner = NULL;
        lock_drop(&threads.lock);
}

static bool membarrier(int command)
{
        return syscall(SYS_membarrier, command, 0, 0) == 0;
}

/* Registers with the kernel before the first call to the driver, so that no thread begins one
 * without a fence. */
static void register_once(void)
{
        if (load_acquire(&threads.is_registered))
                return;
        if (!membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
                store_relaxed(&threads.is_barred, 1);
        store_release(&threads.is_registered, 1);
}

/* Returns a free entry of this part of the table. A thread that called in its last destructors
 * left its entry; if this thread has the storage of that thread, returns that entry. NULL: there
 * is none. The caller holds the lock. */
static struct caller *find_caller(struct callers *callers, const struct credit *credit)
{
        uint32_t high = load_relaxed(&callers->high);
        struct caller *free = high < CALLERS ? &callers->caller[high] : NULL;

        for (uint32_t i = high; i-- > 0;) {
                if (callers->caller[i].owner == credit)
                        return &callers->caller[i];
                if (!callers->caller[i].owner)
                        free = &callers->caller[i];
        }
        if (free == &callers->caller[high])
                store_release(&callers->high, high + 1);
        return free;
}

static struct callers *more_callers(void)
{
        struct callers *more = mmap(NULL, sizeof(*more), PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (more == MAP_FAILED)
                return NULL;
        madvise(more, sizeof(*more), MADV_WIPEONFORK);
        return more;
}

/* Returns an entry for the thread. NULL: there is no memory. The caller holds the lock. */
static struct caller *take_caller(const struct credit *credit)
{
        struct callers *callers = &threads.callers;
        struct caller *caller = find_caller(callers, credit);

        while (!caller) {
                struct callers *next = load_relaxed(&callers->next);

                if (!next) {
                        next = more_callers();
                        if (!next)
                                return NULL;
                        store_release(&callers->next, next);
                }
                callers = next;
                caller = find_caller(callers, credit);
        }
        caller->owner = credit;
        store_relaxed(&caller->calls, 0);
        store_relaxed(&caller->is_fenced, load_relaxed(&threads.is_barred));
        return caller;
}

static bool join_threads(struct credit *credit)
{
        struct caller *caller;

        lock_take(&threads.lock);
        caller = take_caller(credit);
        if (caller) {
                credit->caller = caller;
                credit->number = ++threads.numbers;
        }
        lock_drop(&threads.lock);
        return caller != NULL;
}

bool threads_join(void)
{
        static _Thread_local bool is_told;
        struct credit *credit = &credit_here;

        if (is_known(credit))
                return true;
        if (!is_told)
                is_told = __cxa_thread_atexit_impl(at_thread_end, NULL, &__dso_handle) == 0;
        wiped_mark(threads);
        register_once();
        if (is_told && join_threads(credit))
                return true;
        store_relaxed(&threads.is_crowded, 1);
        return false;
}

bool threads_are_all_known(void)
{
        return !load_relaxed(&threads.is_crowded);
}

static bool are_out(struct callers *callers)
{
        uint32_t high = load_acquire(&callers->high), i = 0;

        while (i < high && !load_relaxed(&callers->caller[i].calls))
                i++;
        return i == high;
}

bool threads_are_out(void)
{
        struct callers *callers = &threads.callers;

        if (load_relaxed(&threads.is_late))
                return false;
        while (callers && are_out(callers))
                callers = load_acquire(&callers->next);
        return !callers;
}

/* -- The fence -------------------------------------------------------------------------------- */

/* Notes that membarrier is barred. Threads that were in the table before may have begun a call
 * without a fence. */
static void be_barred(void)
{
        store_relaxed(&threads.is_late, !swap_acq_rel(&threads.is_barred, 1));
        lock_take(&threads.lock);
        for (struct callers *callers = &threads.callers; callers;
             callers = load_relaxed(&callers->next)) {
                for (uint32_t i = 0; i < CALLERS; i++)
                        store_relaxed(&callers->caller[i].is_fenced, 1);
        }
        lock_drop(&threads.lock);
}

void fence_all(void)
{
        int saved = errno;

        fence_seq_cst();
        register_once();
        if (load_relaxed(&threads.is_barred))
                store_relaxed(&threads.is_late, 0);
        else if (!membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
                be_barred();
        fence_seq_cst();
        errno = saved;
}

bool turn_end(_Atomic uint32_t *epoch)
{
        add_acq_rel(epoch, 1);
        fence_all();
        return threads_are_out();
}
