/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that the hooks of the NVML front end share.
 *
 * At each call, a handle is mapped to a row of the session's page by the UUID that the driver
 * reports for the handle: handles belong to the driver, and may mean another device after a
 * shutdown. This is fast enough, because programs call NVML a few times a second at most. Any
 * thread.
 */
#ifndef ALIQUOT_SHIM_NVML_FRONT_H
#define ALIQUOT_SHIM_NVML_FRONT_H

#include <stdbool.h>

#include "abi/nvml.h"
#include "shim/charge.h"
#include "shim/session.h"

/* Starts the session at the first call. False: the session is broken. */
bool nvml_start(void);

/* Returns the row of a device or MIG instance. CHARGE_NO_DEVICE: there is no session, or the driver
 * reports no UUID. SESSION_NO_ROW: the session is broken, or has no row for the device. */
int nvml_row(nvmlDevice_t device);

#endif
