/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/charge/orphan.h"

#include "shim/attach.h"
#include "shim/cuda/state/imports.h"
#include "shim/turn.h"
#include "store/liveness.h"

/* A name of shared memory (import.h) has two lock bytes in the file `slots`, at offsets far beyond
 * those of the slots. NAME_BYTE is set in both offsets; HOLD_BYTE is set in that of the byte that
 * importers lock. */
#define NAME_BYTE (UINT64_C(1) << 44)
#define HOLD_BYTE (UINT64_C(2) << 44)

/* An orphan (orphan.h). Guarded by imports_lock. */
struct orphan {
        struct table_link link; /* key: name of the memory */
        uint64_t number;        /* key of the charge, in SPACE_IMPORT */
        void *charge_lock;      /* lock of the charged process, or NULL */
        int row;
};

static uint64_t byte_of(uint64_t name)
{
        return NAME_BYTE | (name & (NAME_BYTE - 1));
}

void *name_lock(uint64_t name, bool *ret_is_free)
{
        void *pin;

        *ret_is_free = turn_try(byte_of(name), &pin);
        return pin;
}

void *name_hold(uint64_t name)
{
        struct process *process = process_attached();
        void *pin = NULL;

        if (!process)
                return NULL;
        lock_take(&process->descriptors);
        if (liveness_share(session_slots_file(), byte_of(name) | HOLD_BYTE, &pin) < 0)
                pin = NULL;
        lock_drop(&process->descriptors);
        return pin;
}

bool name_is_held(uint64_t name)
{
        struct process *process = process_attached();
        bool is_held = true;
        int fd;

        if (!process)
                return true;
        lock_take(&process->descriptors);
        fd = liveness_open(session_slots_file());
        if (fd >= 0) {
                is_held = liveness_probe(fd, byte_of(name) | HOLD_BYTE) != 0;
                liveness_close(fd);
        }
        lock_drop(&process->descriptors);
        return is_held;
}

void orphan_make(uint64_t name, void *charge_lock, struct charge *take_charge)
{
        struct orphan *orphan = table_make(&shared_state.orphans, sizeof(*orphan));
        uint64_t number = ++shared_state.imports_last_id;

        if (orphan) { /* if out of memory, the charge stays until the process ends */
                orphan->link.key = name;
                orphan->charge_lock = charge_lock;
                orphan->number = number;
                orphan->row = take_charge->device;
                table_put(&shared_state.orphans, orphan);
                add_relaxed(&shared_state.orphans_live, 1u);
        }
        take_charge->owner = 0;
        charge_mark_unseen(take_charge);
        charge_keep(take_charge, SPACE_IMPORT, number);
}

static void orphan_end(struct orphan *orphan)
{
        struct charge charge;

        charge_take(&charge, SPACE_IMPORT, orphan->number);
        charge_drop(&charge);
        /* After charge_drop(): the next process that is charged finds the room. */
        if (orphan->charge_lock)
                liveness_unlock(orphan->charge_lock);
        table_remove(&shared_state.orphans, orphan);
        table_free(&shared_state.orphans, orphan);
        add_relaxed(&shared_state.orphans_live, -1u);
}

/* Returns the first orphan on `row` (-1: on any row) that no process imports any more, or NULL. The
 * caller removes it and starts over, because a removal changes the table. */
static struct orphan *orphan_over(int row)
{
        struct orphan *orphan = table_each(&shared_state.orphans, NULL);

        while (orphan && ((row >= 0 && orphan->row != row) || name_is_held(orphan->link.key)))
                orphan = table_each(&shared_state.orphans, orphan);
        return orphan;
}

void orphans_sweep(int row)
{
        struct orphan *orphan;

        if (!load_relaxed(&shared_state.orphans_live))
                return;
        lock_take(&shared_state.imports_lock);
        while ((orphan = orphan_over(row)))
                orphan_end(orphan);
        lock_drop(&shared_state.imports_lock);
}
