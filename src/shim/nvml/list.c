/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/nvml/list.h"

#include <sys/mman.h>

void *list_scratch(size_t bytes)
{
        void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        return at == MAP_FAILED ? NULL : at;
}

bool list_is_answered(nvmlReturn_t rc)
{
        return rc == NVML_SUCCESS || rc == NVML_ERROR_INSUFFICIENT_SIZE;
}

void *list_read(list_reader *read, nvmlDevice_t device, unsigned *ret_count, size_t *ret_bytes,
                nvmlReturn_t *ret_rc)
{
        unsigned count = 0;
        void *infos;

        *ret_rc = read(device, &count, NULL);
        if (!list_is_answered(*ret_rc))
                return NULL;
        count += 16;
        *ret_bytes = count * sizeof(nvmlProcessInfo_v2_t);
        infos = list_scratch(*ret_bytes);
        *ret_rc = infos ? read(device, &count, infos) : NVML_ERROR_MEMORY;
        *ret_count = count;
        if (infos && *ret_rc != NVML_SUCCESS) {
                munmap(infos, *ret_bytes);
                infos = NULL;
        }
        return infos;
}
