/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvmlErrorString, the one function that returns a pointer. Without a driver, the error code that
 * every other function returns would be read as an address.
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
