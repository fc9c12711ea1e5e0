/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests in a separate process whether all ways to the driver's functions (doors) lead to Aliquot's
 * library.
 *
 * This command starts itself again as an ordinary program: once with the library preloaded, once
 * with the shims in LD_LIBRARY_PATH. That program reports which library's function it got through
 * each door.
 */
#ifndef ALIQUOT_CLI_PROBE_H
#define ALIQUOT_CLI_PROBE_H

#include "machine/installation.h"
#include "cli/report.h"

void probe_preload(const struct installation *own, struct report *report);
void probe_shims(const struct installation *own, struct report *report);

#endif
