/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls that need a current context by NVIDIA's manual, whatever their arguments are.
 */
#ifndef ALIQUOT_SIM_CONTEXT_CURRENT_H
#define ALIQUOT_SIM_CONTEXT_CURRENT_H

#include <stdbool.h>

bool current_is_needed(const char *function);

#endif
