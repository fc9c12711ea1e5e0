/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a database before SQLite opens them: whose they are, and putting them aside.
 */
#ifndef ALIQUOT_DAEMON_DATABASE_FILES_H
#define ALIQUOT_DAEMON_DATABASE_FILES_H

#include <stdbool.h>

#include "common/error.h"

/* The folder and each file that is there: ours, and nobody else's to write. `make`: what is missing
 * of the folder (0700), and an empty file (0600). */
int files_check(const char *path, bool make, struct error *err);

#endif
