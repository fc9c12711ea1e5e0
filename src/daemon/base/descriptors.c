/* SPDX-License-Identifier: Apache-2.0 */
#include "common/minmax.h"
#include "daemon/base/descriptors.h"

#include <sys/resource.h>

#define MOST 65536u

void descriptors_raise(void)
{
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
                return;
        limit.rlim_cur = limit.rlim_max < MOST ? limit.rlim_max : MOST;
        setrlimit(RLIMIT_NOFILE, &limit);
}

unsigned descriptors_max(unsigned allowed, unsigned part)
{
        struct rlimit limit;
        rlim_t most, kept;

        if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
                return allowed;
        kept = limit.rlim_cur / 8;
        kept = max_u64(kept, DESCRIPTORS_KEPT);
        most = limit.rlim_cur > kept ? (limit.rlim_cur - kept) / part : 0;
        if (most < 1)
                most = 1;
        return most < allowed ? (unsigned)most : allowed;
}
