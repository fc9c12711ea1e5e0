/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/time/fence.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/lock.h"
#include "shim/time/credit.h"

#define THREADS 4096u
#define PAGE_BYTES 4096u

_Thread_local struct credit credit_here;

struct threads {
        _Atomic uint32_t is_wiped_at_fork;
        _Atomic uint32_t is_registered; /* with the kernel */
        _Atomic uint32_t is_barred;     /* by the kernel: each thread makes its own fence */
        _Atomic uint32_t is_late;       /* that was found out at the last fence */
        _Atomic uint32_t is_crowded;    /* some thread is not one of them */
        struct lock lock;
        _Atomic uint32_t high;
        struct credit *credit[THREADS];
};

/* Whole pages of its own, so that the kernel can wipe them in a child. */
static union {
        struct threads parts;
        unsigned char pages[(sizeof(struct threads) + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES];
} store __attribute__((aligned(PAGE_BYTES)));

extern struct threads threads __attribute__((alias("store")));

/* The C library's, since 2.18: runs when the thread ends. */
extern int __cxa_thread_atexit_impl(void (*at_end)(void *), void *argument, void *library);
extern __attribute__((visibility("hidden"))) void *__dso_handle;

/* -- Threads ---------------------------------------------------------------------------------- */

static void at_thread_end(void *unused)
{
        struct credit *credit = &credit_here;

        (void)unused;
        lock_take(&threads.lock);
        if (credit->number && threads.credit[credit->number - 1] == credit)
                threads.credit[credit->number - 1] = NULL;
        lock_drop(&threads.lock);
        credit->number = 0;
        credit->left = 0;
}

static bool membarrier(int command)
{
        return syscall(SYS_membarrier, command, 0, 0) == 0;
}

/* Before the first call that counts, so that no thread begins one without a fence. */
static void register_once(void)
{
        if (load_acquire(&threads.is_registered))
                return;
        if (!membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
                store_relaxed(&threads.is_barred, 1);
        store_release(&threads.is_registered, 1);
}

/* Under the lock. */
static uint32_t free_place(void)
{
        uint32_t high = load_relaxed(&threads.high);

        for (uint32_t i = 0; i < high; i++) {
                if (!threads.credit[i])
                        return i;
        }
        return high;
}

bool threads_join(void)
{
        static _Thread_local bool is_told;
        struct credit *credit = &credit_here;
        uint32_t at;

        if (credit->number && threads.credit[credit->number - 1] == credit)
                return true;
        if (!is_told)
                is_told = __cxa_thread_atexit_impl(at_thread_end, NULL, &__dso_handle) == 0;
        if (!is_told) {
                store_relaxed(&threads.is_crowded, 1);
                return false;
        }
        if (!load_relaxed(&threads.is_wiped_at_fork)) {
                madvise(&store, sizeof(store), MADV_WIPEONFORK);
                store_relaxed(&threads.is_wiped_at_fork, 1);
        }
        register_once();
        lock_take(&threads.lock);
        at = free_place();
        if (at < THREADS) {
                store_relaxed(&credit->is_fenced, load_relaxed(&threads.is_barred));
                threads.credit[at] = credit;
                credit->number = at + 1;
                if (at == load_relaxed(&threads.high))
                        store_release(&threads.high, at + 1);
        }
        lock_drop(&threads.lock);
        if (at == THREADS)
                store_relaxed(&threads.is_crowded, 1);
        return at < THREADS;
}

bool threads_are_all_known(void)
{
        return !load_relaxed(&threads.is_crowded);
}

/* A thread that ends takes its credit with it: not while it is read here. */
bool threads_are_out(void)
{
        uint32_t high = load_acquire(&threads.high);
        bool are_out = !load_relaxed(&threads.is_late);

        lock_take(&threads.lock);
        for (uint32_t i = 0; i < high && are_out; i++) {
                const struct credit *credit = threads.credit[i];

                are_out = !credit || !load_relaxed(&credit->calls);
        }
        lock_drop(&threads.lock);
        return are_out;
}

/* -- The fence -------------------------------------------------------------------------------- */

/* The threads that were here before may have begun a call without a fence. */
static void be_barred(void)
{
        store_relaxed(&threads.is_late, !swap_acq_rel(&threads.is_barred, 1));
        lock_take(&threads.lock);
        for (uint32_t i = 0; i < load_relaxed(&threads.high); i++) {
                if (threads.credit[i])
                        store_relaxed(&threads.credit[i]->is_fenced, 1);
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
