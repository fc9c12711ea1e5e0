/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a database, apart from SQLite: whose they are, and putting them aside.
 */
#ifndef ALIQUOT_DAEMON_DATABASE_DATABASE_FILES_H
#define ALIQUOT_DAEMON_DATABASE_DATABASE_FILES_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/error.h"

/* The folder and each file that is there: ours, and nobody else's to write. `make`: what is missing
 * of the folder (0700), and an empty file (0600). */
int files_check(const char *path, bool make, struct error *err);

/* Whether the folder is there and good; it is not made. */
int files_check_folder(const char *path, struct error *err);

/* Deletes it with all that belongs to it; 0 also if nothing is there. */
int files_drop(const char *path, struct error *err);

/* Renames a file that is nobody's yet, and returns when a power cut cannot undo it. -EEXIST: there
 * is one at `to`. */
int files_move(const char *from, const char *to, struct error *err);

#endif
