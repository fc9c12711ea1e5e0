/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private declarations of the files of /metrics. metrics_head() writes the head of a metric, which
 * its series must follow.
 */
#ifndef ALIQUOT_DAEMON_API_METRICS_PARTS_H
#define ALIQUOT_DAEMON_API_METRICS_PARTS_H

#include <stdio.h>

#include "daemon/api/api_parts.h"

void metrics_head(FILE *out, const char *name, const char *type, const char *help);

void metrics_put_compute(FILE *out, const struct http_api *api);
void metrics_put_gpus(FILE *out, const struct http_api *api);
void metrics_put_sessions(FILE *out, const struct api_call *call);

#endif
