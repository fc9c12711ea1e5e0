/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks NVML on behalf of the CUDA front end (shim/cards.h), for example how much memory of a card
 * this process holds.
 */
#include "shim/cards.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/uuid.h"
#include "shim/nvml/list.h"
#include "shim/nvml/real.h"

static bool find_device(const uint8_t uuid[16], nvmlDevice_t *ret)
{
        char text[UUID_TEXT_BYTES];

        return real.nvmlDeviceGetHandleByUUID(uuid_format(uuid, false, text), ret) ==
                       NVML_SUCCESS ||
               real.nvmlDeviceGetHandleByUUID(uuid_format(uuid, true, text), ret) == NVML_SUCCESS;
}

static nvmlReturn_t read_compute(nvmlDevice_t device, unsigned *count, void *infos)
{
        nvmlReturn_t rc = real.nvmlDeviceGetComputeRunningProcesses_v3(device, count, infos);

        return rc == NVML_ERROR_FUNCTION_NOT_FOUND
                       ? real.nvmlDeviceGetComputeRunningProcesses_v2(device, count, infos)
                       : rc;
}

/* Reads how much memory NVML lists for this process. In a PID namespace other than the driver's,
 * our PID is not in the list. */
static enum cards_answer own_bytes(nvmlDevice_t device, uint64_t *ret_bytes)
{
        enum cards_answer answer = CARDS_NOT_LISTED;
        unsigned own = (unsigned)getpid();
        nvmlProcessInfo_v2_t *infos;
        unsigned count;
        size_t bytes;
        nvmlReturn_t rc;

        infos = list_read(read_compute, device, &count, &bytes, &rc);
        if (!infos)
                return CARDS_UNKNOWN;
        for (unsigned i = 0; i < count && answer != CARDS_TOLD; i++) {
                if (infos[i].pid != own)
                        continue;
                *ret_bytes = infos[i].usedGpuMemory;
                answer = *ret_bytes == (unsigned long long)NVML_VALUE_NOT_AVAILABLE ? CARDS_UNKNOWN
                                                                                    : CARDS_TOLD;
        }
        munmap(infos, bytes);
        return answer;
}

/* The inode number of the initial PID namespace is the same on every machine (linux/proc_ns.h). */
bool cards_know_pids(void)
{
        int saved = errno;
        struct stat status;
        bool is_first = stat("/proc/self/ns/pid", &status) == 0 && status.st_ino == 0xEFFFFFFCu;

        errno = saved;
        return is_first;
}

bool cards_keep_open(void)
{
        static _Atomic uint32_t opened;
        uint32_t own = (uint32_t)getpid();

        if (load_acquire(&opened) == own)
                return true;
        if (real.nvmlInit_v2() != NVML_SUCCESS)
                return false;
        store_release(&opened, own);
        return true;
}

/* Initialises NVML for each query, because the program may have called nvmlShutdown more often than
 * nvmlInit. */
enum cards_answer cards_own_bytes(const uint8_t uuid[16], uint64_t *ret_bytes)
{
        enum cards_answer answer = CARDS_UNKNOWN;
        nvmlDevice_t device;

        if (!cards_keep_open() || real.nvmlInit_v2() != NVML_SUCCESS)
                return CARDS_UNKNOWN;
        if (find_device(uuid, &device))
                answer = own_bytes(device, ret_bytes);
        real.nvmlShutdown();
        return answer;
}
