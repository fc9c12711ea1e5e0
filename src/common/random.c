/* SPDX-License-Identifier: Apache-2.0 */
#include "common/random.h"

#include <errno.h>
#include <sys/random.h>

int random_fill(void *ret, size_t bytes, struct error *err)
{
        unsigned char *at = ret;

        while (bytes) {
                ssize_t got = getrandom(at, bytes, 0);

                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return fail(err, -errno, "random bytes from the kernel: %m");
                at += got;
                bytes -= (size_t)got;
        }
        return 0;
}
