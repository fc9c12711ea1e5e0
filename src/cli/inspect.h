/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out whether a running process is interposed, from /proc.
 */
#ifndef ALIQUOT_CLI_INSPECT_H
#define ALIQUOT_CLI_INSPECT_H

#include "cli/report.h"

void inspect_process(const char *pid, struct report *report);

#endif
