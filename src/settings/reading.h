/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the parts of the reader: finds where a value was set, and adds rules.
 */
#ifndef ALIQUOT_SETTINGS_READING_H
#define ALIQUOT_SETTINGS_READING_H

#include <stdbool.h>

#include "settings/settings.h"

/* One reading; all pointers are borrowed until it returns. */
struct reading {
        char *const *environment;
        const struct settings_flag *flags;
        bool is_alone;      /* a program that cannot ask a daemon */
        bool is_privileged; /* more rights than its user: folders, logs and drivers are not read */
};

/* One value and its source. */
struct said {
        const char *origin; /* the flag or the variable */
        const char *value;
};

/* False: not set. The first looks at the variable only, the second also at the flag that mirrors
 * it. */
bool reading_variable(const struct reading *reading, const char *name, struct said *ret);
bool reading_find(const struct reading *reading, const char *name, struct said *ret);

/* Puts "NAME=value: " in front of an error. */
void said_wrap(const struct said *said, struct error *err);

/* Adds a rule in sorted order; `selector` as the user wrote it, "" for every other device. */
int rules_add(struct settings_rules *rules, const char *selector, const struct size *size,
              struct error *err);

/* How to parse a rule's value, and what messages call it. */
struct rule_value {
        int (*parse)(const char *text, struct size *ret, struct error *err);
        const char *word;
};

/* Reads "VALUE" or "GPU=VALUE", several with commas. */
int rules_parse(const struct said *said, const struct rule_value *value, struct settings_rules *ret,
                struct error *err);

/* The first wish is kept; a second one must be the same, else `what` they are about is refused.
 * `variable`: our own, which would settle it. */
int rules_merge(struct settings_rules *into, const struct settings_rules *wish, const char *what,
                const char *variable, struct error *err);

/* Reads a JSON object of GPU to number; `put` converts the number. */
int rules_parse_json(const char *text,
                     int (*put)(uint64_t number, struct size *ret, struct error *err),
                     struct settings_rules *ret, struct error *err);

/* A variable for every GPU (NAME) or for one (NAME_i). */
struct indexed_name {
        const char *name;
        int (*parse)(const char *text, struct size *ret, struct error *err);
};

/* Reads every NAME and NAME_i, together; `parse` reads each value. */
int rules_read_indexed(const struct reading *reading, const struct indexed_name *indexed,
                       struct settings_rules *ret, struct error *err);

/* A program that has only its environment is refused any rank but the default. */
int rank_read(const struct reading *reading, struct settings_rank *ret, struct error *err);

/* Reads compute time: our own variables, or else those of other systems. */
int compute_read(const struct reading *reading, struct settings_rules *ret, struct error *err);

/* Reads the variables of other systems, in their units. -ENOENT: none is set. */
int aliases_read_memory(const struct reading *reading, struct settings_rules *ret,
                        struct error *err);
/* Finds a session's socket, by its file name. -ENOENT: not set, or set to another socket. */
int aliases_read_socket(const struct reading *reading, struct said *ret);
/* Finds the runtime folder by the socket in it. -ENOENT: not set. */
int aliases_read_folder(const struct reading *reading, char ret[SETTINGS_PATH_BYTES],
                        struct error *err);
int aliases_read_log(const struct reading *reading, struct log_config *ret, struct error *err);

/* Host memory in place of card memory: SETTINGS_HOST_SPARE, or a number of bytes; 0: none. */
int oversubscribe_read(const struct reading *reading, uint64_t *ret, struct error *err);

/* Whether memory may be moved to the host and back. Refused for a program that has only its
 * environment, and together with memory that lies in the host (`host_bytes`). */
int swap_read(const struct reading *reading, struct settings *into, struct error *err);
int swap_check_alone(const struct reading *reading, const struct settings *settings,
                     struct error *err);

/* Refuses settings that ask for an unsupported feature. */
int features_check(const struct reading *reading, struct error *err);
/* Refuses settings that ask for no limits. */
int features_check_off(const struct reading *reading, struct error *err);

/* Whether the variable may be set but empty and then asks for nothing, as its system's plugin sets
 * it. */
bool names_may_be_empty(const char *name);

/* Refuses a variable whose name looks like a misspelling of one of ours, or of another system's
 * limit. */
int typos_check(const struct reading *reading, struct error *err);
/* The same for the name of the runtime folder alone, for commands that read no other. */
int typos_check_folder(const struct reading *reading, struct error *err);

#endif
