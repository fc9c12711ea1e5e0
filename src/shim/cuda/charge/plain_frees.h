/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts stream-ordered frees of plain (not pool) memory that their streams have not executed yet:
 * until then the driver still holds that memory. Any thread.
 */
#ifndef ALIQUOT_SHIM_CUDA_CHARGE_PLAIN_FREES_H
#define ALIQUOT_SHIM_CUDA_CHARGE_PLAIN_FREES_H

#include <stdbool.h>

/* Adds `more`, which may be negative, to the count of pending frees. */
void plain_note_frees(int more);
bool plain_frees_are_pending(void);

#endif
