/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sort orders of `aliquot top`, and their names, which `aliquot complete` offers too.
 */
#ifndef ALIQUOT_CLI_SORTS_H
#define ALIQUOT_CLI_SORTS_H

enum sort_key {
        SORT_NAME,
        SORT_PROCESSES,
        SORT_USED,
        SORT_LIMIT,
        SORT_FILL,
        SORT_SHARE,
        SORT_WAITING,
        SORT_KEYS,
};

extern const char *const sort_names[SORT_KEYS];

#endif
