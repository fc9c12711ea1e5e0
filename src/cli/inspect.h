/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out from /proc whether Aliquot is active in a running process.
 */
#ifndef ALIQUOT_CLI_INSPECT_H
#define ALIQUOT_CLI_INSPECT_H

#include "cli/report.h"

void inspect_process(const char *pid, struct report *report);

#endif
