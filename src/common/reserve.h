/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reserves room in a file before the file is mapped. On a full tmpfs the reservation fails, while a
 * write to a hole in a mapping ends the process with SIGBUS.
 *
 *      rc = reserve_bytes(fd, offset, bytes);  // not 0 (-ENOSPC, ...): do not touch the mapping
 *
 * A reservation is permanent, and may be repeated. A file system that cannot reserve is assumed to
 * have room. reserve_bytes() is a cancellation point, and does not keep errno.
 */
#ifndef ALIQUOT_COMMON_RESERVE_H
#define ALIQUOT_COMMON_RESERVE_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>

#include "common/minmax.h"

/* Reserve in small steps: a signal undoes the step that it interrupts, and if signals come often, a
 * large step would never complete. */
#define RESERVE_STEP_BYTES UINT64_C(65536)

static inline int reserve_bytes(int fd, uint64_t offset, uint64_t bytes)
{
        while (bytes) {
                uint64_t step = min_u64(bytes, RESERVE_STEP_BYTES);

                if (fallocate(fd, 0, (off_t)offset, (off_t)step) == 0) {
                        offset += step;
                        bytes -= step;
                } else if (errno == EOPNOTSUPP) {
                        return 0;
                } else if (errno != EINTR) {
                        return -errno;
                }
        }
        return 0;
}

#endif
