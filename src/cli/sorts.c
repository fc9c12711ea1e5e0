/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sorts.h"

const char *const sort_names[SORT_KEYS] = { "name", "processes", "used",   "limit",
                                            "full", "share",     "waiting" };
