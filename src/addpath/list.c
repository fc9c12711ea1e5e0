/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Edits lists as text: it reads no environment, allocates no memory, and cannot fail.
 *
 * A text with n separators has n + 1 entries, of which some may be empty; only the empty text has
 * none.
 */
#include "addpath/list.h"

#include <string.h>

struct path_entry {
        const char *text;
        size_t length;
};

struct output {
        char *text;
        size_t length;
        /* whether an entry was written; `length` may be 0 even then, since the first entry may
         * be empty */
        bool has_entries;
};

static struct path_entry entry_at(const char *cursor, const char *separators)
{
        return (struct path_entry){ cursor, strcspn(cursor, separators) };
}

/* Returns the first entry; NULL: there is none. */
static const char *first(const char *text)
{
        return text && *text ? text : NULL;
}

/* Returns the entry after `entry`; NULL: it was the last. */
static const char *after(struct path_entry entry)
{
        const char *end = entry.text + entry.length;

        return *end ? end + 1 : NULL;
}

/* Whether `text` up to `end` (NULL: all of it) has an entry that equals `wanted`. */
static bool has_entry(const char *text, const char *end, const char *separators,
                      struct path_entry wanted)
{
        for (const char *cursor = first(text); cursor && cursor != end;) {
                struct path_entry entry = entry_at(cursor, separators);

                if (entry.length == wanted.length && !memcmp(entry.text, wanted.text, entry.length))
                        return true;
                cursor = after(entry);
        }
        return false;
}

static void put(struct output *output, char separator, struct path_entry entry)
{
        if (output->has_entries)
                output->text[output->length++] = separator;
        memcpy(output->text + output->length, entry.text, entry.length);
        output->length += entry.length;
        output->has_entries = true;
}

/* Writes the entries of edit->value, each once, without those that `except` (may be NULL) has. */
static void put_value(struct output *output, const struct list_edit *edit, const char *except)
{
        for (const char *cursor = first(edit->value); cursor;) {
                struct path_entry entry = entry_at(cursor, edit->separators);

                if (entry.length && !has_entry(edit->value, cursor, edit->separators, entry) &&
                    !has_entry(except, NULL, edit->separators, entry))
                        put(output, ':', entry);
                cursor = after(entry);
        }
}

/* Writes the entries of edit->target without those that `except` (may be NULL) has. */
static void put_target(struct output *output, const struct list_edit *edit, const char *except)
{
        char separator = ':';

        for (const char *cursor = first(edit->target); cursor;) {
                struct path_entry entry = entry_at(cursor, edit->separators);

                if (!entry.length || !has_entry(except, NULL, edit->separators, entry))
                        put(output, separator, entry);
                separator = entry.text[entry.length];
                cursor = after(entry);
        }
}

size_t list_edit_size(const struct list_edit *edit)
{
        return (edit->target ? strlen(edit->target) : 0) + strlen(edit->value) + 2;
}

void list_edit(const struct list_edit *edit, char *ret_text)
{
        struct output output = { .text = ret_text };

        if (edit->is_front) {
                put_value(&output, edit, NULL);
                put_target(&output, edit, edit->value);
        } else {
                put_target(&output, edit, NULL);
                put_value(&output, edit, edit->target);
        }
        ret_text[output.length] = '\0';
}
