/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the ways into the driver lead through us, tried in a process of their own.
 *
 * This command starts itself again as a program that knows nothing of us: once with the library
 * preloaded, once with the shims in LD_LIBRARY_PATH. That program says what each door gave it.
 */
#ifndef ALIQUOT_CLI_PROBE_H
#define ALIQUOT_CLI_PROBE_H

#include "machine/installation.h"
#include "cli/report.h"

void probe_preload(const struct installation *own, struct report *report);
void probe_shims(const struct installation *own, struct report *report);

#endif
