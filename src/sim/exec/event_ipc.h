/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events that several processes share: their state is in the file STATE_DIR/event-ID, and the
 * handle contains the ID.
 */
#ifndef ALIQUOT_SIM_EXEC_EVENT_IPC_H
#define ALIQUOT_SIM_EXEC_EVENT_IPC_H

#include "sim/exec/event.h"

/* Gives a new event a state in a shared file. Returns 0 or a negative errno. */
int event_ipc_make(CUevent event);

void event_ipc_unmap(struct event_state *state);

CUevent event_make(CUcontext context, unsigned flags);

#endif
