/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoint and restore of the calling process, which is running, locked or checkpointed.
 *
 * Locked: all work is done, and every other call waits. Checkpointed: the process holds no device
 * memory; the data stays in host memory. Restoring takes the same amounts of device memory again,
 * or returns OUT_OF_MEMORY and stays checkpointed. Other processes cannot be checkpointed, and the
 * process cannot be restored on other devices.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim/context/context.h"
#include "sim/context/device.h"
#include "sim/entries.h"
#include "sim/exec/exec.h"
#include "sim/node/fault.h"
#include "sim/node/node.h"

static pthread_mutex_t checkpoint_lock = PTHREAD_MUTEX_INITIALIZER;
/* while the process is checkpointed: the bytes to take again, by unit */
static uint64_t held_bytes[SIM_DEVICES][FAMILY_COUNT];

/* Finds the row of the process `pid`, which must be the calling process. */
static CUresult row_find(int pid, struct node_row **ret)
{
        struct node_row *self = node_self();

        if (!self)
                return CUDA_ERROR_NOT_INITIALIZED;
        if (pid <= 0)
                return CUDA_ERROR_INVALID_VALUE;
        if (pid != getpid()) {
                sim_log("checkpoint of another process is not modelled");
                return CUDA_ERROR_NOT_SUPPORTED;
        }
        *ret = self;
        return CUDA_SUCCESS;
}

CUresult sim_cuCheckpointProcessGetState(int pid, CUprocessState *ret)
{
        struct node_row *row;
        CUresult result = row_find(pid, &row);

        if (result != CUDA_SUCCESS || !ret)
                return result != CUDA_SUCCESS ? result : CUDA_ERROR_INVALID_VALUE;
        *ret = (CUprocessState)row->checkpoint_state;
        return CUDA_SUCCESS;
}

CUresult sim_cuCheckpointProcessGetRestoreThreadId(int pid, int *ret)
{
        struct node_row *row;
        CUresult result = row_find(pid, &row);

        if (result != CUDA_SUCCESS || !ret)
                return result != CUDA_SUCCESS ? result : CUDA_ERROR_INVALID_VALUE;
        *ret = pid;
        return CUDA_SUCCESS;
}

/* Makes one step of the state machine. The caller holds checkpoint_lock. */
static CUresult change_state(int pid, CUprocessState from, CUprocessState to)
{
        struct node_row *row;
        CUresult result = row_find(pid, &row);

        if (result != CUDA_SUCCESS)
                return result;
        if (row->checkpoint_state != from)
                return CUDA_ERROR_ILLEGAL_STATE;
        row->checkpoint_state = to;
        return CUDA_SUCCESS;
}

CUresult sim_cuCheckpointProcessLock(int pid, CUcheckpointLockArgs *args)
{
        pthread_mutex_lock(&checkpoint_lock);
        CUresult result = change_state(pid, CU_PROCESS_STATE_RUNNING, CU_PROCESS_STATE_LOCKED);
        if (result == CUDA_SUCCESS) {
                api_block(true);
                for (CUdevice device = 0; device < device_count(); device++)
                        exec_device_synchronize(device);
        }
        pthread_mutex_unlock(&checkpoint_lock);
        return result;
}

static void devices_leave(void)
{
        struct sim_node *node = node_get();
        unsigned row = (unsigned)(node_self() - node->row);

        for (unsigned unit = 0; unit < node->device_count; unit++) {
                memcpy(held_bytes[unit], node->column[unit][row].granted_bytes,
                       sizeof(held_bytes[unit]));
                for (unsigned family = 0; family < FAMILY_COUNT; family++)
                        node_release(unit, family, held_bytes[unit][family]);
        }
}

/* Takes the device memory again: all of it, or none if a device is full. */
static bool devices_return(void)
{
        unsigned count = node_get()->device_count * FAMILY_COUNT;

        for (unsigned i = 0; i < count; i++) {
                if (node_grant(i / FAMILY_COUNT, i % FAMILY_COUNT,
                               held_bytes[i / FAMILY_COUNT][i % FAMILY_COUNT]) == GRANT_OK)
                        continue;
                while (i-- > 0)
                        node_release(i / FAMILY_COUNT, i % FAMILY_COUNT,
                                     held_bytes[i / FAMILY_COUNT][i % FAMILY_COUNT]);
                return false;
        }
        return true;
}

CUresult sim_cuCheckpointProcessCheckpoint(int pid, CUcheckpointCheckpointArgs *args)
{
        pthread_mutex_lock(&checkpoint_lock);
        CUresult result = change_state(pid, CU_PROCESS_STATE_LOCKED, CU_PROCESS_STATE_CHECKPOINTED);
        if (result == CUDA_SUCCESS)
                devices_leave();
        pthread_mutex_unlock(&checkpoint_lock);
        return result;
}

CUresult sim_cuCheckpointProcessRestore(int pid, CUcheckpointRestoreArgs *args)
{
        if (args && args->gpuPairsCount > 0)
                return CUDA_ERROR_NOT_SUPPORTED;
        pthread_mutex_lock(&checkpoint_lock);
        CUresult result = change_state(pid, CU_PROCESS_STATE_CHECKPOINTED, CU_PROCESS_STATE_LOCKED);
        if (result == CUDA_SUCCESS && !devices_return()) {
                change_state(pid, CU_PROCESS_STATE_LOCKED, CU_PROCESS_STATE_CHECKPOINTED);
                result = CUDA_ERROR_OUT_OF_MEMORY;
        }
        pthread_mutex_unlock(&checkpoint_lock);
        return result;
}

CUresult sim_cuCheckpointProcessUnlock(int pid, CUcheckpointUnlockArgs *args)
{
        pthread_mutex_lock(&checkpoint_lock);
        CUresult result = change_state(pid, CU_PROCESS_STATE_LOCKED, CU_PROCESS_STATE_RUNNING);
        if (result == CUDA_SUCCESS)
                api_block(false);
        pthread_mutex_unlock(&checkpoint_lock);
        return result;
}
