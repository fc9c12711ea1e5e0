/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of openapi.json, embedded at build time (tools/embed).
 */
#ifndef ALIQUOT_DAEMON_API_OPENAPI_H
#define ALIQUOT_DAEMON_API_OPENAPI_H

#include <stddef.h>

extern const char openapi_json[];
extern const size_t openapi_json_bytes;

#endif
