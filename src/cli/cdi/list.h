/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shares for people and for programs.
 */
#ifndef ALIQUOT_CLI_CDI_LIST_H
#define ALIQUOT_CLI_CDI_LIST_H

#include "cli/client_profiles.h"
#include "cli/table.h"

#define LIST_TITLES "SHARE,GPU,#MEMORY,#COMPUTE,CLASS,FROM,#CONTAINERS"

/* With these titles, or those of them that were chosen. */
void list_print(const struct client_profile *profiles, size_t count, struct table *table);
void list_print_json(const struct client_profile *profiles, size_t count);

#endif
