/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocates pages for device memory; see backing.h. Existing pages stay: only memory that was never
 * accessed needs new ones.
 */
#include "sim/memory/backing.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/atomic.h"
#include "sim/memory/memory.h"
#include "sim/node/config.h"

/* Flags of madvise() since Linux 5.14. An older kernel returns EINVAL; then nothing is checked.
 * EFAULT: an access would kill the process. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

#define PAGE_BYTES UINT64_C(4096)
/* Free space that other processes may take between the check and the access. */
#define SLACK_BYTES (UINT64_C(16) << 20)

/* Returns the free space of the state folder's file system. */
static uint64_t room_bytes(void)
{
        struct statvfs fs;

        if (statvfs(config_get()->state_dir, &fs) < 0 || fs.f_blocks == 0)
                return UINT64_MAX;
        return (uint64_t)fs.f_bavail * fs.f_frsize;
}

bool backing_is_roomy(uint64_t card_bytes)
{
        uint64_t room = room_bytes();

        return room >= card_bytes ||
               room >= (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 4;
}

static void tell_full(void)
{
        static _Atomic uint32_t is_told;

        if (!swap_acq_rel(&is_told, 1))
                fprintf(stderr,
                        "aliquot-sim: the file system of %s is full: no room for device memory "
                        "that was granted; make it larger, or name another folder with state=\n",
                        config_get()->state_dir);
}

bool backing_ensure(CUdeviceptr address, uint64_t bytes, unsigned access)
{
        CUdeviceptr start = address & ~(PAGE_BYTES - 1);
        uint64_t length = (address - start + bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
        uint64_t room = bytes ? room_bytes() : UINT64_MAX;

        if (room >= SLACK_BYTES && room - SLACK_BYTES >= length)
                return true;
        if (madvise((void *)start, length,
                    access & ACCESS_WRITE ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0 ||
            errno != EFAULT)
                return true;
        tell_full();
        return false;
}
