/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the hooks of the NVML front end.
 *
 * At each call a handle is mapped to its row of the session's page by the UUID that the driver
 * gives for it: handles belong to the driver and may mean another device after a shutdown. Programs
 * call NVML a few times a second at most. Any thread.
 */
#ifndef ALIQUOT_SHIM_NVML_FRONT_H
#define ALIQUOT_SHIM_NVML_FRONT_H

#include <stdbool.h>

#include "abi/nvml.h"
#include "shim/charge.h"
#include "shim/session.h"

/* Starts the session at the first call. False: it is broken. */
bool nvml_start(void);

/* Row of a device or MIG instance; CHARGE_NO_DEVICE without a session, SESSION_NO_ROW. */
int nvml_row(nvmlDevice_t device);

#endif
