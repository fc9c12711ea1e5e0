/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles a database's files without SQLite: checks their owner, and creates, renames and deletes
 * them.
 */
#ifndef ALIQUOT_DAEMON_DATABASE_DATABASE_FILES_H
#define ALIQUOT_DAEMON_DATABASE_DATABASE_FILES_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/error.h"

/* Checks the folder and each existing file: they must belong to this user (the folder may belong to
 * root), and no other user may be able to write to them. `make`: creates missing folders of the
 * path (the last with mode 0700), and an empty file (0600). */
int files_check(const char *path, bool make, struct error *err);

/* Checks that the database's folder exists and is valid; does not create it. */
int files_check_folder(const char *path, struct error *err);

/* Deletes the database with all files that belong to it. Also 0 if it does not exist. */
int files_drop(const char *path, struct error *err);

/* Renames a file that is not in use yet. When this has returned, a power cut cannot undo it.
 * -EEXIST: `to` exists. */
int files_move(const char *from, const char *to, struct error *err);

#endif
