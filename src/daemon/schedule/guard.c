/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/schedule/guard.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/atomic.h"
#include "core/sessions.h"

/* Written by guard_add() and guard_remove() of any thread, read by the handler on the thread that
 * touched the page. `bytes` is written after `at` and cleared before it (release), so while it is
 * not 0 the range is whole. They end with the process. */
static struct {
        _Atomic uintptr_t at; /* 0: the place is free */
        _Atomic size_t bytes;
} ranges[SESSIONS_MOST];

static uintptr_t page_bytes; /* written once, before the handler is there */

static bool is_guarded(uintptr_t address)
{
        for (unsigned i = 0; i < SESSIONS_MOST; i++) {
                size_t bytes = load_acquire(&ranges[i].bytes);

                if (bytes && address - load_relaxed(&ranges[i].at) < bytes)
                        return true;
        }
        return false;
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
        uintptr_t address = (uintptr_t)info->si_addr;
        void *page = (void *)(address & ~(page_bytes - 1)); /* NOLINT(performance-no-int-to-ptr) */
        int saved = errno;

        if (!is_guarded(address) ||
            mmap(page, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                 -1, 0) == MAP_FAILED)
                signal(number, SIG_DFL); /* the same access again: as if we were not here */
        errno = saved;
}

int guard_start(struct error *err)
{
        const struct sigaction action = { .sa_sigaction = on_bus_error,
                                          .sa_flags = SA_SIGINFO | SA_NODEFER };

        page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
        if (sigaction(SIGBUS, &action, NULL) < 0)
                return fail(err, -errno, "SIGBUS: %m");
        return 0;
}

int guard_add(void *at, size_t bytes, struct error *err)
{
        for (unsigned i = 0; i < SESSIONS_MOST; i++) {
                uintptr_t nobody = 0;

                if (!cas_acq_rel(&ranges[i].at, &nobody, (uintptr_t)at))
                        continue;
                store_release(&ranges[i].bytes, bytes);
                return 0;
        }
        return fail(err, -ENOSPC, "more than %u sessions are watched", SESSIONS_MOST);
}

void guard_remove(void *at)
{
        for (unsigned i = 0; i < SESSIONS_MOST; i++) {
                if (load_relaxed(&ranges[i].at) != (uintptr_t)at)
                        continue;
                store_release(&ranges[i].bytes, 0);
                store_release(&ranges[i].at, 0);
                return;
        }
}
