/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/base/thread.h"

#include <signal.h>
#include <stddef.h>

int thread_start(pthread_t *ret, const char *name, void *(*run)(void *), void *argument)
{
        sigset_t all, before;
        int rc;

        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        rc = pthread_create(ret, NULL, run, argument);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (rc == 0 && name)
                pthread_setname_np(*ret, name);
        return -rc;
}
