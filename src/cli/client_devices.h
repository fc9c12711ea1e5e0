/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPUs that a daemon serves, as it reports them: for a shell that sees no driver, or another
 * driver.
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

/* Returns the number of GPUs. -ENODEV: the daemon has none, and `err` has its reason.
 * `patience_ms`: timeout for the response; 0: the default. */
int client_devices(const struct store *store, long patience_ms,
                   struct client_device ret[SETTINGS_GPUS], struct error *err);

#endif
