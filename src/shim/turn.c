/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/turn.h"

#include <errno.h>
#include <stddef.h>

#include "shim/attach.h"
#include "shim/session.h"
#include "store/liveness.h"

bool turn_try(uint64_t byte, void **ret_turn)
{
        struct process *process = process_attached();
        int rc;

        *ret_turn = NULL;
        if (!process)
                return true;
        lock_take(&process->descriptors);
        rc = liveness_lock(session_slots_file(), byte, ret_turn);
        lock_drop(&process->descriptors);
        if (rc < 0)
                *ret_turn = NULL;
        return rc != -EAGAIN;
}

void turn_drop(void *turn)
{
        if (turn)
                liveness_unlock(turn);
}
