/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Robust mutexes; see robust.h.
 *
 * If a waiting thread is woken and killed before it has the mutex, the wake-up is lost: a thread
 * that took the mutex in between does not know that others sleep, and wakes none. Therefore no
 * thread sleeps for long; it tries again.
 */
#include "sim/node/robust.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

#define LOOK_NS 10000000
#define SECOND_NS 1000000000

void robust_init(pthread_mutex_t *mutex)
{
        pthread_mutexattr_t attributes;

        memset(mutex, 0, sizeof(*mutex));
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
        pthread_mutex_init(mutex, &attributes);
        pthread_mutexattr_destroy(&attributes);
}

#ifdef __SANITIZE_THREAD__
/* Tells the thread sanitizer that the thread has the mutex: it takes a pthread_mutex_timedlock()
 * that returned EOWNERDEAD for a failure (gcc 12). */
static void tell_inherited(pthread_mutex_t *mutex)
{
        __tsan_mutex_pre_lock(mutex, __tsan_mutex_try_lock);
        __tsan_mutex_post_lock(mutex, __tsan_mutex_try_lock, 0);
}
#else
static void tell_inherited(const pthread_mutex_t *mutex)
{
        (void)mutex;
}
#endif

int robust_lock(pthread_mutex_t *mutex)
{
        int rc = pthread_mutex_trylock(mutex);

        while (rc == EBUSY || rc == ETIMEDOUT) {
                struct timespec look;

                clock_gettime(CLOCK_REALTIME, &look);
                look.tv_nsec += LOOK_NS;
                look.tv_sec += look.tv_nsec / SECOND_NS;
                look.tv_nsec %= SECOND_NS;
                rc = pthread_mutex_timedlock(mutex, &look);
                if (rc == EOWNERDEAD)
                        tell_inherited(mutex);
        }
        return rc;
}
