/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a body of the API: api_body.c has the table of fields, api_memory.c reads GPUs and their
 * memory. Each function returns false if it refused the request.
 */
#ifndef ALIQUOT_DAEMON_API_API_READING_H
#define ALIQUOT_DAEMON_API_API_READING_H

#include "common/units.h"
#include "daemon/api/api_parts.h"
#include "settings/resolve.h"

struct api_reading {
        struct api_call *call;
        struct sessions_one *one;
        struct sessions_event *event;
        json_t *body;
        struct settings_gpus gpus;
        bool is_change;
};

bool reading_refuse(struct api_reading *reading, const char *field, const char *expected);
bool reading_refuse_why(struct api_reading *reading, const char *field, const struct error *err);

/* Reads the GPUs of a creation, given by name or number. Call it before reading `memory`, which
 * depends on them. */
bool reading_gpus(struct api_reading *reading);
bool reading_memory(struct api_reading *reading, json_t *memory);
/* Sets the memory of each GPU to the maximum that one session may have of it. */
bool reading_whole(struct api_reading *reading);

#endif
