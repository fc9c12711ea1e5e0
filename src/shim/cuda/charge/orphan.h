/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of shared memory, and memory that its owner gave back while others of the session hold it.
 *
 * A name has two bytes in `slots`, far behind the slots' own. One is locked by whoever is charged.
 * The other is locked, together, by everybody who imports: from before the driver is asked for the
 * memory until after it was given back. So whoever was charged and gives the memory back knows
 * whether the card still holds it: then the charge stays with this process, as an *orphan*, until
 * nobody imports the name any more (orphans_sweep), or this process ends and an importer takes
 * over.
 */
#ifndef ALIQUOT_SHIM_CUDA_CHARGE_ORPHAN_H
#define ALIQUOT_SHIM_CUDA_CHARGE_ORPHAN_H

#include "shim/cuda/place/front.h"

/* The lock of whoever is charged, or NULL: somebody has it. `*ret_is_free` also when the file
 * cannot be locked at all: better charged twice than not. */
void *name_lock(uint64_t name, bool *ret_is_free);

/* The lock of those who import; NULL when it cannot be had: then who imports must be charged. */
void *name_hold(uint64_t name);

/* Does anybody import it, this process included? True when it cannot be told. */
bool name_is_held(uint64_t name);

/* Under imports_lock. `charge_lock` is that of whoever is charged (name_lock()), or NULL. */
void orphan_make(uint64_t name, void *charge_lock, struct charge *take_charge);

/* Gives back what nobody holds any more on this row; -1: on every row. */
void orphans_sweep(int row);

#endif
