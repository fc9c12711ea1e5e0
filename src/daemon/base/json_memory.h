/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether jansson had all the memory that it asked for.
 *
 *      json_memory_watch()                     // once, before any value is made
 *      json_memory_begin()                     // before each request or event
 *      ...                                     // values are read and made
 *      json_memory_was_short()                 // something is missing in them
 *
 * jansson has no error for much of what it cannot do without memory: a member that cannot be added
 * is left out, and json_dumps() (2.14) leaves out a key and goes on, so that its text is no JSON.
 * So its allocations are watched. Each thread has its own count.
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
