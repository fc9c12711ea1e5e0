/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPUs that a daemon serves, as it tells them: for a shell that sees no driver, or another one.
 */
#ifndef ALIQUOT_CLI_CLIENT_DEVICES_H
#define ALIQUOT_CLI_CLIENT_DEVICES_H

#include "cli/client.h"
#include "machine/cards.h"
#include "machine/gauges.h"

struct client_device {
        struct card card;
        struct gauges gauges;
};

/* Returns how many there are. -ENODEV: none, with the daemon's reason. `patience_ms`: for the
 * answer; 0: as for any other. */
int client_devices(const struct store *store, long patience_ms,
                   struct client_device ret[SETTINGS_GPUS], struct error *err);

#endif
