/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks on the names of shared memory (import.h), and orphans: memory that the charged process has
 * freed while other processes of the session still import it.
 *
 * A name has two lock bytes in the file `slots`, far behind the file's contents. The charged
 * process locks one of them exclusively. All importing processes share the lock on the other one,
 * from before they ask the driver for the memory until after its free. So the charged process that
 * frees the memory can tell whether the memory is still on the card. If so, the charge stays with
 * this process, as an *orphan*, until no process imports the name any more (orphans_sweep()), or
 * until this process ends and an importer takes over the charge.
 */
#ifndef ALIQUOT_SHIM_CUDA_CHARGE_ORPHAN_H
#define ALIQUOT_SHIM_CUDA_CHARGE_ORPHAN_H

#include "shim/cuda/place/front.h"

/* Takes the exclusive lock whose holder is charged for the memory `name`. NULL: another process has
 * it, or locking failed. *ret_is_free is false only if another process has it. If locking failed it
 * is true, so that the caller charges the memory: it is better charged twice than not at all. */
void *name_lock(uint64_t name, bool *ret_is_free);

/* Takes a shared lock as an importer of `name`. NULL if that fails; then the importer must be
 * charged. */
void *name_hold(uint64_t name);

/* Whether any process, including this one, imports `name`. True if that is unknown. */
bool name_is_held(uint64_t name);

/* Keeps the charge as an orphan. `charge_lock` is the result of name_lock(), or
 * NULL. The caller holds imports_lock. */
void orphan_make(uint64_t name, void *charge_lock, struct charge *take_charge);

/* Releases the charges of the orphans on `row` (-1: on every row) that no process imports any
 * more. */
void orphans_sweep(int row);

#endif
