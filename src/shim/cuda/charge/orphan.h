/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of shared memory, and orphans: memory that its charged process freed while other processes
 * of the session hold it.
 *
 * A name has two bytes in `slots`, far behind the slots' own. The charged process locks one of
 * them. All importing processes lock the other together: from before the driver is asked for the
 * memory until after it was freed. So when the charged process frees the memory, it knows whether
 * the card still holds it. Then the charge stays with this process, as an *orphan*, until no
 * process imports the name any more (orphans_sweep), or until this process ends and an importer
 * takes over.
 */
#ifndef ALIQUOT_SHIM_CUDA_CHARGE_ORPHAN_H
#define ALIQUOT_SHIM_CUDA_CHARGE_ORPHAN_H

#include "shim/cuda/place/front.h"

/* Takes the lock of the charged process; NULL: another process has it. `*ret_is_free` is also true
 * if the file cannot be locked at all: charging twice is better than not at all. */
void *name_lock(uint64_t name, bool *ret_is_free);

/* Takes the lock of an importer; NULL if that fails: then the importer must be charged. */
void *name_hold(uint64_t name);

/* Whether any process, including this one, imports it. True if that is unknown. */
bool name_is_held(uint64_t name);

/* Under imports_lock. `charge_lock` is the charged process's lock (name_lock()), or NULL. */
void orphan_make(uint64_t name, void *charge_lock, struct charge *take_charge);

/* Releases the charges of orphans on this row that no process holds any more; -1: on every row. */
void orphans_sweep(int row);

#endif
