/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds driver functions by name, version and flags (cuGetProcAddress, both forms of its ABI). Also
 * refuses the private tables of functions, which the simulator does not have.
 *
 * The result is the newest form of the function that is neither newer than the requested version
 * nor newer than the configured driver version. It is never simply the newest form, because the
 * caller's prototype follows from the version that it requested. Three details are as measured with
 * libcuda.so of the drivers 535 to 595 (2026-11-21): the errors, that a negative version means the
 * newest form, and that both flags together mean the per-thread form.
 */
#include "sim/context/proc.h"

#include <stddef.h>
#include <string.h>

#include "sim/entries.h"
#include "sim/node/config.h"
#include "sim/node/fault.h"

#define KNOWN_FLAGS                                      \
        ((cuuint64_t)CU_GET_PROC_ADDRESS_LEGACY_STREAM | \
         (cuuint64_t)CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)

/* Returns the index of the first row with the name, or proc_count. */
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

/* Returns whether the request is invalid. The drivers 535 to 555 treat a version above their own
 * like their own; 580 and 595 refuse it. */
static bool is_refused(const char *name, void *const *ret, int version, cuuint64_t flags,
                       int newest)
{
        return !name || !ret || (flags & ~KNOWN_FLAGS) || (newest >= 13000 && version > newest);
}

/* Returns the newest form that is not newer than `newest`, among the rows of the name at `first`;
 * the per-thread form if it is wanted and exists. NULL: there is none. */
static const struct proc *newest_form(unsigned first, int newest, bool is_per_thread_wanted)
{
        const struct proc *plain = NULL, *per_thread = NULL;

        for (unsigned i = first; i < proc_count && strcmp(procs[i].name, procs[first].name) == 0;
             i++) {
                if (procs[i].version > newest)
                        continue;
                if (procs[i].is_per_thread)
                        per_thread = &procs[i];
                else
                        plain = &procs[i];
        }
        return is_per_thread_wanted && per_thread ? per_thread : plain;
}

static CUresult lookup(const char *name, void **ret, int version, cuuint64_t flags,
                       CUdriverProcAddressQueryResult *ret_status)
{
        const struct sim_config *config = config_get();
        int newest = config ? config->driver_version : CONFIG_DRIVER_VERSION;
        const struct proc *found;
        unsigned first;

        if (is_refused(name, ret, version, flags, newest))
                return CUDA_ERROR_INVALID_VALUE;
        if (version >= 0 && version < newest)
                newest = version;
        first = name_find(name);
        found = newest_form(first, newest, flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
        if (found) {
                *ret = found->address;
                *ret_status = CU_GET_PROC_ADDRESS_SUCCESS;
        } else {
                *ret_status = first < proc_count ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                                 : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
        }
        return CUDA_SUCCESS;
}

CUresult sim_cuGetProcAddress(const char *name, void **ret, int version, cuuint64_t flags)
{
        CUdriverProcAddressQueryResult status;
        CUresult rc = lookup(name, ret, version, flags, &status);

        if (rc != CUDA_SUCCESS)
                return rc;
        return status == CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult sim_cuGetProcAddress_v2(const char *name, void **ret, int version, cuuint64_t flags,
                                 CUdriverProcAddressQueryResult *ret_status)
{
        CUdriverProcAddressQueryResult status;
        CUresult rc = lookup(name, ret, version, flags, &status);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (status != CU_GET_PROC_ADDRESS_SUCCESS)
                *ret = NULL;
        if (ret_status)
                *ret_status = status;
        return CUDA_SUCCESS;
}

CUresult sim_cuGetExportTable(const void **ret, const CUuuid *id)
{
        if (!ret || !id)
                return CUDA_ERROR_INVALID_VALUE;
        *ret = NULL;
        sim_log("cuGetExportTable: private tables are not modelled");
        return CUDA_ERROR_NOT_FOUND;
}
