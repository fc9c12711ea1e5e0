/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds one list to another, entry by entry, as they are in environment variables such as PATH.
 *
 * A list that is added twice is the same as one that is added once. An entry that the target
 * already has is not added again: when adding at the end it stays where it is, and when adding at
 * the front it moves to the front. The added entries keep their order. Repeated ones are added
 * once, and empty ones are not added (in PATH they would mean the current directory). All other
 * entries of the target, even empty ones, keep their order and separators. Entries are compared as
 * text, so "/bin" and "/bin/" differ.
 */
#ifndef ALIQUOT_ADDPATH_LIST_H
#define ALIQUOT_ADDPATH_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* What to add, and to what. */
struct list_edit {
        const char *target; /* list to which entries are added; NULL: the variable is not set */
        const char *value;  /* list of entries to add */
        /* each of these characters ends an entry; added entries are joined by ':' */
        const char *separators;
        bool is_front; /* add at the front, not at the end */
};

/* Returns the maximum bytes of the edited list, with the terminating NUL. */
size_t list_edit_size(const struct list_edit *edit);

/* Writes the edited list, terminated, to `ret_text`, which has list_edit_size() bytes. */
void list_edit(const struct list_edit *edit, char *ret_text);

#endif
