/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets the mask with sigprocmask(), not pthread_sigmask(). On Linux both set the calling thread's
 * mask, but pthread_sigmask() has a symbol version that older C libraries lack.
 */
#include "common/quiet.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

static const int signals[] = { SIGPIPE, SIGXFSZ };
#define SIGNALS (sizeof(signals) / sizeof(signals[0]))

void quiet_begin(struct quiet *ret)
{
        int saved = errno;
        sigset_t blocked;

        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ret->cancelling);
        sigemptyset(&blocked);
        for (unsigned i = 0; i < SIGNALS; i++)
                sigaddset(&blocked, signals[i]);
        sigpending(&ret->pending);
        sigprocmask(SIG_BLOCK, &blocked, &ret->mask);
        errno = saved;
}

/* Removes the signals that were raised since quiet_begin(), before the restored mask would
 * deliver them. */
static void swallow(const sigset_t *before)
{
        static const struct timespec at_once;
        sigset_t raised, now;

        sigemptyset(&raised);
        sigpending(&now);
        for (unsigned i = 0; i < SIGNALS; i++) {
                if (!sigismember(&now, signals[i]) || sigismember(before, signals[i]))
                        continue;
                sigaddset(&raised, signals[i]);
                while (sigtimedwait(&raised, NULL, &at_once) < 0 && errno == EINTR)
                        ;
                sigdelset(&raised, signals[i]);
        }
}

void quiet_end(const struct quiet *quiet)
{
        int saved = errno;

        swallow(&quiet->pending);
        sigprocmask(SIG_SETMASK, &quiet->mask, NULL);
        pthread_setcancelstate(quiet->cancelling, NULL);
        errno = saved;
}
