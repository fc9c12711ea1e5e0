/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects that jansson ran out of memory.
 *
 *      json_memory_watch()                     // once, before any json_t is made
 *      json_memory_begin()                     // before each request or event
 *      ...                                     // JSON is parsed and made
 *      json_memory_was_short()                 // true: some of it is incomplete
 *
 * jansson reports no error for many failed allocations: a member that cannot be added is left out,
 * and json_dumps() (2.14) can leave out a key and go on, so that its text is no JSON. So these
 * functions count jansson's failed allocations, for each thread separately.
 */
#ifndef ALIQUOT_DAEMON_BASE_JSON_MEMORY_H
#define ALIQUOT_DAEMON_BASE_JSON_MEMORY_H

#include <jansson.h>
#include <stdbool.h>

void json_memory_watch(void);
void json_memory_begin(void);
bool json_memory_was_short(void);

/* Calls json_dumps(), and returns the text only if it is complete; the caller frees it. NULL: no
 * memory, or `json` is NULL. */
char *json_memory_text(const json_t *json, size_t flags);

#endif
