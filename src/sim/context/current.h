/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of calls that need a current context whatever their arguments are, for current=measured.
 */
#ifndef ALIQUOT_SIM_CONTEXT_CURRENT_H
#define ALIQUOT_SIM_CONTEXT_CURRENT_H

#include <stdbool.h>

bool current_is_needed(const char *function);

#endif
