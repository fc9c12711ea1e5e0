/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the daemon's shares for containers, as a table or as JSON.
 */
#ifndef ALIQUOT_CLI_CDI_LIST_H
#define ALIQUOT_CLI_CDI_LIST_H

#include "cli/client_profiles.h"
#include "cli/table.h"

#define LIST_TITLES "SHARE,GPU,#MEMORY,#COMPUTE,CLASS,FROM,#CONTAINERS"

/* Prints a table with these titles, or with the columns of them that were chosen. */
void list_print(const struct client_profile *profiles, size_t count, struct table *table);
void list_print_json(const struct client_profile *profiles, size_t count);

#endif
