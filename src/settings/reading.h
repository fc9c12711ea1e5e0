/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that the files of settings/ share while they read: they find the value of a setting and
 * its source, and parse, add and merge rules.
 */
#ifndef ALIQUOT_SETTINGS_READING_H
#define ALIQUOT_SETTINGS_READING_H

#include <stdbool.h>

#include "settings/settings.h"

/* The sources of one call of settings_read...(). All pointers are borrowed for the duration of
 * the call. */
struct reading {
        char *const *environment;
        const struct settings_flag *flags;
        bool is_alone; /* the reader is a program, which cannot ask a daemon; not a command */
        /* the program has more rights than its user: it reads no folder, log or driver variables */
        bool is_privileged;
};

/* The value of a setting and its source. */
struct said {
        const char *origin; /* name of the flag or variable */
        const char *value;
};

/* Find a setting; false: it is not set. reading_variable() looks in the environment only.
 * reading_find() first looks for the flag of the same setting. */
bool reading_variable(const struct reading *reading, const char *name, struct said *ret);
bool reading_find(const struct reading *reading, const char *name, struct said *ret);

/* Puts "NAME=value: " (for a flag, "--name value: ") in front of the message in `err`. */
void said_wrap(const struct said *said, struct error *err);

/* Adds a rule in sorted order. `selector` is as the user wrote it; "" selects every GPU without its
 * own rule. */
int rules_add(struct settings_rules *rules, const char *selector, const struct size *size,
              struct error *err);

/* How to parse a rule's value, and the word for that value in messages. */
struct rule_value {
        int (*parse)(const char *text, struct size *ret, struct error *err);
        const char *word;
};

/* Reads one or more items "VALUE" or "GPU=VALUE", separated by commas, into `ret`. */
int rules_parse(const struct said *said, const struct rule_value *value, struct settings_rules *ret,
                struct error *err);

/* Merges the rules of another variable into `into`. If both have rules, they must be the same;
 * otherwise the merge is refused. For the message, `what` says what the rules limit, and `variable`
 * is our own variable, which overrides both. */
int rules_merge(struct settings_rules *into, const struct settings_rules *wish, const char *what,
                const char *variable, struct error *err);

/* Reads a JSON object that maps each GPU to a number, such as {"0": 50}; `put` converts the
 * number. */
int rules_parse_json(const char *text,
                     int (*put)(uint64_t number, struct size *ret, struct error *err),
                     struct settings_rules *ret, struct error *err);

/* A variable that limits every GPU (NAME) or one GPU (NAME_i). */
struct indexed_name {
        const char *name;
        int (*parse)(const char *text, struct size *ret, struct error *err);
};

/* Adds the rules of NAME and of every NAME_i to `ret`; `parse` reads each value. */
int rules_read_indexed(const struct reading *reading, const struct indexed_name *indexed,
                       struct settings_rules *ret, struct error *err);

/* Reads guarantee, weight, priority and gang. A program that has only its environment is refused
 * any but the default ones. */
int rank_read(const struct reading *reading, struct settings_rank *ret, struct error *err);

/* Reads the caps on compute time: from our own setting, or else from the variables of
 * other systems. */
int compute_read(const struct reading *reading, struct settings_rules *ret, struct error *err);

/* Reads the memory limits from the variables of other systems, each in its own unit. -ENOENT: none
 * of them is set. */
int aliases_read_memory(const struct reading *reading, struct settings_rules *ret,
                        struct error *err);
/* Finds the variable of another system that has the path of a session's socket, recognised by the
 * file name. -ENOENT: it is not set, or has another socket's path. */
int aliases_read_socket(const struct reading *reading, struct said *ret);
/* Reads the runtime folder from the variable of another system that has the path of the daemon's
 * socket in that folder. -ENOENT: it is not set, or has a session's socket. */
int aliases_read_folder(const struct reading *reading, char ret[SETTINGS_PATH_BYTES],
                        struct error *err);
/* Reads the log settings from the variables of other systems. */
int aliases_read_log(const struct reading *reading, struct log_config *ret, struct error *err);

/* Reads how much host memory the session may use in place of card memory: SETTINGS_HOST_SPARE, or
 * bytes; 0: none. */
int oversubscribe_read(const struct reading *reading, uint64_t *ret, struct error *err);

/* Sets into->swaps and into->says_swap: whether the session's memory may be moved to the host and
 * back. Swap together with host memory in place of card memory (into->host_bytes) is refused. */
int swap_read(const struct reading *reading, struct settings *into, struct error *err);
/* Refuses swap together with any other setting in a program that has only its environment. */
int swap_check_alone(const struct reading *reading, const struct settings *settings,
                     struct error *err);

/* Refuses variables that ask for an unsupported feature. */
int features_check(const struct reading *reading, struct error *err);
/* Refuses variables that switch limits off; called if another setting asks for a limit. */
int features_check_off(const struct reading *reading, struct error *err);

/* Whether an empty value of the variable is allowed and sets no limit: the device plugin of the
 * variable's system sets it so. */
bool names_may_be_empty(const char *name);

/* Refuses a variable whose name looks like a misspelling of one of our variables, or of another
 * system's limit variable. */
int typos_check(const struct reading *reading, struct error *err);
/* Refuses a variable whose name looks like a misspelling of ALIQUOT_RUNTIME_DIR; for commands that
 * read no other setting. */
int typos_check_folder(const struct reading *reading, struct error *err);

#endif
