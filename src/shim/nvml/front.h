/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the hooks of the NVML front end share.
 *
 * A handle is turned into its row of the session's page by the UUID that the driver gives for it,
 * at each call: handles are the driver's and may mean another device after a shutdown. NVML is
 * asked some times a second at most. Any thread.
 */
#ifndef ALIQUOT_SHIM_NVML_FRONT_H
#define ALIQUOT_SHIM_NVML_FRONT_H

#include <stdbool.h>

#include "abi/nvml.h"
#include "shim/charge.h"
#include "shim/session.h"

/* Starts the session if this is the first call of all. False: it is broken. */
bool nvml_start(void);

/* Row of a device or MIG instance; CHARGE_NO_DEVICE without a session, SESSION_NO_ROW. */
int nvml_row(nvmlDevice_t device);

#endif
