/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entry points by (name, version, flags), both ABIs, and the private tables that we do not have.
 *
 * The answer is the newest form that is not newer than the version asked for, nor than the driver
 * that the configuration plays. Never simply the newest: the caller's prototype follows from the
 * version it asked for.
 */
#include "sim/context/proc.h"

#include <stddef.h>
#include <string.h>

#include "sim/node/config.h"
#include "sim/node/fault.h"

/* First row of the name, or proc_count. */
static unsigned name_find(const char *name)
{
        unsigned low = 0, high = proc_count;

        while (low < high) {
                unsigned middle = (low + high) / 2;

                if (strcmp(procs[middle].name, name) < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low < proc_count && strcmp(procs[low].name, name) == 0 ? low : proc_count;
}

static CUresult lookup(const char *name, void **ret, int version, cuuint64_t flags,
                       CUdriverProcAddressQueryResult *ret_status)
{
        const struct sim_config *config = config_get();
        int newest = config ? config->driver_version : CONFIG_DRIVER_VERSION;
        const struct proc *plain = NULL, *per_thread = NULL;

        if (!name || !ret || flags > 2 || version < 0)
                return CUDA_ERROR_INVALID_VALUE;
        if (version < newest)
                newest = version;
        unsigned first = name_find(name);
        for (unsigned i = first; i < proc_count && strcmp(procs[i].name, name) == 0; i++) {
                if (procs[i].version > newest)
                        continue;
                if (procs[i].is_per_thread)
                        per_thread = &procs[i];
                else
                        plain = &procs[i];
        }
        const struct proc *found = plain;
        if ((flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) && per_thread)
                found = per_thread;
        *ret = found ? found->address : NULL;
        if (ret_status) {
                if (found)
                        *ret_status = CU_GET_PROC_ADDRESS_SUCCESS;
                else if (first < proc_count)
                        *ret_status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
                else
                        *ret_status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
        }
        return found ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress(const char *name, void **ret, int version, cuuint64_t flags)
{
        return lookup(name, ret, version, flags, NULL);
}

CUresult cuGetProcAddress_v2(const char *name, void **ret, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *ret_status)
{
        return lookup(name, ret, version, flags, ret_status);
}

CUresult cuGetExportTable(const void **ret, const CUuuid *id)
{
        if (!ret || !id)
                return CUDA_ERROR_INVALID_VALUE;
        *ret = NULL;
        sim_log("cuGetExportTable: private tables are not modelled");
        return CUDA_ERROR_NOT_FOUND;
}
