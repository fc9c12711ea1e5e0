/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frees of plain memory in stream order that their streams have not got to: the driver has that
 * memory still. Any thread.
 */
#ifndef ALIQUOT_SHIM_CUDA_CHARGE_PLAIN_FREES_H
#define ALIQUOT_SHIM_CUDA_CHARGE_PLAIN_FREES_H

#include <stdbool.h>

/* Changes the count of such frees by `more`. */
void plain_note_frees(int more);
bool plain_frees_are_pending(void);

#endif
