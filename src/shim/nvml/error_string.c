/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hook for nvmlErrorString, the one function that returns a pointer. Without a driver, every other
 * function returns an error code, which the caller of this one would take for an address.
 */
#include "interpose/library.h"
#include "shim/apis.h"
#include "shim/nvml/hooks.h"
#include "shim/nvml/real.h"

const char *hook_nvmlErrorString(nvmlReturn_t result)
{
        if (library_has(&nvml_api, (unsigned)api_find(&nvml_api, "nvmlErrorString")))
                return real.nvmlErrorString(result);
        return result == NVML_SUCCESS ? "Success" : "NVML Shared Library Not Found";
}
