/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's own functions, as members of `real`: real.nvmlDeviceGetName(...) calls the driver.
 *
 * Generated from the tables (tools/gen-api). Any member may be called at any time: the first call
 * opens the driver's library, and a function that the driver lacks returns
 * NVML_ERROR_FUNCTION_NOT_FOUND.
 */
#pragma once

#include "shim/real.h" // IWYU pragma: export
