/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prototypes of the hooks for NVML, one for each `hook` line of nvml.api, with the type that
 * src/abi declares for the symbol. So a hook that is missing or has another type does not build.
 */
#pragma once

#include "shim/hooks.h" // IWYU pragma: export
