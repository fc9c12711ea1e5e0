/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prototypes of this folder's hooks, one for each `hook` line of cuda.api, with the type that
 * src/abi gives the symbol: a hook whose ABI differs, or that is missing, does not build.
 */
#pragma once

#include "shim/hooks.h" // IWYU pragma: export
