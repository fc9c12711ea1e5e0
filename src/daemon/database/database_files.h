/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a database, apart from SQLite: checks their owner, and renames them.
 */
#ifndef ALIQUOT_DAEMON_DATABASE_DATABASE_FILES_H
#define ALIQUOT_DAEMON_DATABASE_DATABASE_FILES_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/error.h"

/* Checks the folder and each existing file: they must be ours, and only we may write them. `make`:
 * creates the missing parts of the folder (0700), and an empty file (0600). */
int files_check(const char *path, bool make, struct error *err);

/* Checks that the folder exists and is valid; does not create it. */
int files_check_folder(const char *path, struct error *err);

/* Deletes the database with all that belongs to it; also 0 if it does not exist. */
int files_drop(const char *path, struct error *err);

/* Renames a file that is not in use yet; returns when a power cut cannot undo it. -EEXIST: `to`
 * exists. */
int files_move(const char *from, const char *to, struct error *err);

#endif
