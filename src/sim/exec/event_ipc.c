/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interprocess events. The handle contains HANDLE_MARK and the number of the file with the state.
 *
 * The file is created with the event and stays until the state folder is cleared. Other processes
 * may open it as long as its creator lives, and there is no way to know when the last process has
 * closed it.
 */
#include "sim/exec/event_ipc.h"

#include "common/reserve.h"
#include "common/scoped.h"
#include "sim/entries.h"
#include "sim/node/config.h"
#include "sim/node/node.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HANDLE_MARK 0x746e6576456d6953ULL /* "SimEvent" */

static struct event_state *map_state(uint64_t id, int flags)
{
        char path[320];
        void *state;

        snprintf(path, sizeof(path), "%s/event-%llu", config_get()->state_dir,
                 (unsigned long long)id);
        scoped_fd int fd = open(path, O_RDWR | O_CLOEXEC | flags, 0600);
        if (fd < 0 || ftruncate(fd, sizeof(struct event_state)) < 0)
                return NULL;
        if (reserve_bytes(fd, 0, sizeof(struct event_state)) < 0)
                return NULL;
        state = mmap(NULL, sizeof(struct event_state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        return state == MAP_FAILED ? NULL : state;
}

int event_ipc_make(CUevent event)
{
        uint64_t id = add_relaxed(&node_get()->next_id, 1) + 1;
        struct event_state *state = map_state(id, O_CREAT | O_EXCL);

        if (!state)
                return -errno;
        event->state = state;
        event->ipc_id = id;
        return 0;
}

void event_ipc_unmap(struct event_state *state)
{
        munmap(state, sizeof(*state));
}

CUresult sim_cuIpcGetEventHandle(CUipcEventHandle *ret_handle, CUevent event)
{
        uint64_t mark = HANDLE_MARK;
        CUresult rc = event_check(event);

        if (rc != CUDA_SUCCESS)
                return rc;
        if (!ret_handle)
                return CUDA_ERROR_INVALID_VALUE;
        if (!event->ipc_id)
                return CUDA_ERROR_INVALID_HANDLE;
        memset(ret_handle, 0, sizeof(*ret_handle));
        memcpy(ret_handle->reserved, &mark, sizeof(mark));
        memcpy(ret_handle->reserved + sizeof(mark), &event->ipc_id, sizeof(event->ipc_id));
        return CUDA_SUCCESS;
}

CUresult sim_cuIpcOpenEventHandle(CUcontext context, CUevent *ret_event, CUipcEventHandle handle)
{
        struct event_state *state;
        uint64_t mark, id;
        CUevent event;

        memcpy(&mark, handle.reserved, sizeof(mark));
        memcpy(&id, handle.reserved + sizeof(mark), sizeof(id));
        if (!ret_event || mark != HANDLE_MARK)
                return CUDA_ERROR_INVALID_VALUE;
        state = map_state(id, 0);
        if (!state)
                return CUDA_ERROR_MAP_FAILED;
        event = event_make(context, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
        if (!event) {
                event_ipc_unmap(state);
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
        event->state = state;
        event->ipc_id = id;
        *ret_event = event;
        return CUDA_SUCCESS;
}
