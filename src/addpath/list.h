/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists in environment variables (PATH and the like): one list added to another, entry by entry.
 *
 * Adding twice is adding once: an entry that is there already is not added again. Behind, it stays
 * where it is; in front, it moves to the front. The added entries keep their order, repeated ones
 * count once, empty ones not at all (in PATH they would mean the current directory). Whatever else
 * the target holds keeps its order and its separators, its own empty entries included.
 * Entries are compared as text: "/bin" and "/bin/" are two.
 */
#ifndef ALIQUOT_ADDPATH_LIST_H
#define ALIQUOT_ADDPATH_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list_edit {
        const char *target;     /* NULL: the variable is not set */
        const char *value;      /* what is added */
        const char *separators; /* each of these ends an entry; new entries are joined by ':' */
        bool is_front;          /* before what is there, instead of behind it */
};

/* Bytes that list_edit() needs at most, with the terminating zero. */
size_t list_edit_size(const struct list_edit *edit);

/* Writes the edited list, terminated, to `ret_text` of list_edit_size() bytes. */
void list_edit(const struct list_edit *edit, char *ret_text);

#endif
