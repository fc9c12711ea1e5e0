/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects that jansson ran out of memory.
 *
 *      json_memory_watch()                     // once, before any value is made
 *      json_memory_begin()                     // before each request or event
 *      ...                                     // values are read and made
 *      json_memory_was_short()                 // true: some values are incomplete
 *
 * jansson reports no error for many failed allocations: a member that cannot be added is left out,
 * and json_dumps() (2.14) leaves out a key and goes on, so its text is no JSON. So this watches its
 * allocations. Each thread has its own count.
 */
#ifndef ALIQUOT_DAEMON_BASE_JSON_MEMORY_H
#define ALIQUOT_DAEMON_BASE_JSON_MEMORY_H

#include <jansson.h>
#include <stdbool.h>

void json_memory_watch(void);
void json_memory_begin(void);
bool json_memory_was_short(void);

/* json_dumps(), whole; the caller's to free(). NULL: no memory, or `json` is NULL. */
char *json_memory_text(const json_t *json, size_t flags);

#endif
