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
        bool is_alone;      /* nobody to ask a daemon */
        bool is_privileged; /* more rights than its user: folders, logs and drivers are not read */
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
int rules_add(struct settings_rules *rules, const char *selector, const struct size *size,
              struct error *err);

/* A value of a rule, and how messages name it. */
struct rule_value {
        int (*parse)(const char *text, struct size *ret, struct error *err);
        const char *word;
};

/* "VALUE", "GPU=VALUE", several with commas. */
int rules_parse(const struct said *said, const struct rule_value *value, struct settings_rules *ret,
                struct error *err);

/* The first wish stands; a second must be the same, or else `what` they are about is refused.
 * `variable`: ours, that would settle it. */
int rules_merge(struct settings_rules *into, const struct settings_rules *wish, const char *what,
                const char *variable, struct error *err);

/* JSON: an object of GPU to number; what a number means is `put`'s. */
int rules_parse_json(const char *text,
                     int (*put)(uint64_t number, struct size *ret, struct error *err),
                     struct settings_rules *ret, struct error *err);

/* A variable that says something for every GPU (NAME) or for one (NAME_i). */
struct indexed_name {
        const char *name;
        int (*parse)(const char *text, struct size *ret, struct error *err);
};

/* Every NAME and NAME_i, together; each value as `parse` has it. */
int rules_read_indexed(const struct reading *reading, const struct indexed_name *indexed,
                       struct settings_rules *ret, struct error *err);

/* Of a program that has its environment alone, any rank but the usual one is refused. */
int rank_read(const struct reading *reading, struct settings_rank *ret, struct error *err);

/* Compute time: our own words, or else those of other systems. */
int compute_read(const struct reading *reading, struct settings_rules *ret, struct error *err);

/* The names of other systems, in their units. -ENOENT: none of them was used. */
int aliases_read_memory(const struct reading *reading, struct settings_rules *ret,
                        struct error *err);
/* A session's socket, by the name that it has. -ENOENT: it was not said, or another socket was. */
int aliases_read_socket(const struct reading *reading, struct said *ret);
/* The runtime folder by the socket in it. -ENOENT: it was not said. */
int aliases_read_folder(const struct reading *reading, char ret[SETTINGS_PATH_BYTES],
                        struct error *err);
int aliases_read_log(const struct reading *reading, struct log_config *ret, struct error *err);

/* Memory of the host in place of cards': SETTINGS_HOST_SPARE, a number of bytes, 0 for none. */
int oversubscribe_read(const struct reading *reading, uint64_t *ret, struct error *err);

/* Whether memory may be moved to the host and back; refused of a program that has its environment
 * alone, and beside memory that lies in the host (`host_bytes`). */
int swap_read(const struct reading *reading, struct settings *into, struct error *err);
int swap_check_alone(const struct reading *reading, const struct settings *settings,
                     struct error *err);

/* Whether anything asks for what is not supported. */
int features_check(const struct reading *reading, struct error *err);
/* Whether anything asks that nothing be limited. */
int features_check_off(const struct reading *reading, struct error *err);

/* Whether a variable that is set but empty says nothing, as its system's own plugin writes it. */
bool names_may_be_empty(const char *name);

/* Refuses a variable whose name looks like a slip of the pen in one of ours, or in another system's
 * that sets a limit. */
int typos_check(const struct reading *reading, struct error *err);
/* The same of the runtime folder's name alone, for commands that read no other. */
int typos_check_folder(const struct reading *reading, struct error *err);

#endif
