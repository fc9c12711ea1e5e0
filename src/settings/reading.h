/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the reader share: where a value was said, and how a rule is added.
 */
#ifndef ALIQUOT_SETTINGS_READING_H
#define ALIQUOT_SETTINGS_READING_H

#include <stdbool.h>

#include "settings/settings.h"

/* One reading; everything borrowed until it returns. */
struct reading {
        char *const *environment;
        const struct settings_flag *flags;
        bool is_alone; /* nobody to ask a daemon */
};

/* One value and who said it. */
struct said {
        const char *origin; /* the flag or the variable */
        const char *value;
};

/* False: nobody said it. Only the variable, or also the flag that mirrors it. */
bool reading_variable(const struct reading *reading, const char *name, struct said *ret);
bool reading_find(const struct reading *reading, const char *name, struct said *ret);

/* Puts "NAME=value: " in front of an error. */
void said_wrap(const struct said *said, struct error *err);

/* Adds a rule in its place; `selector` as the user wrote it, "" for every other device. */
int memory_add(struct settings_memory *memory, const char *selector, const struct size *size,
               struct error *err);

/* The names of other systems, in their units. -ENOENT: none of them was used. */
int aliases_read_memory(const struct reading *reading, struct settings_memory *ret,
                        struct error *err);
/* A session's socket, by the name that it has. -ENOENT: it was not said, or another socket was. */
int aliases_read_socket(const struct reading *reading, struct said *ret);
/* The runtime folder by the socket in it. -ENOENT: it was not said. */
int aliases_read_folder(const struct reading *reading, char ret[SETTINGS_PATH_BYTES],
                        struct error *err);
int aliases_read_log(const struct reading *reading, struct log_config *ret, struct error *err);

/* Whether anything asks for what is not built: compute limits, oversubscription. */
int features_check(const struct reading *reading, struct error *err);

/* Whether an ALIQUOT_ variable looks like a slip of the pen in one that sets a limit. */
int typos_check(const struct reading *reading, struct error *err);

#endif
