/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes files that others may read at the same time: readers get the complete new file or the old
 * one.
 *
 * An error is one line with the path. files_write() is for a new path. files_replace() writes a
 * file in the same folder, under a name that the folder's readers ignore, and renames it to `path`.
 * When the functions return, everything is on disk and survives a crash of the machine.
 */
#ifndef ALIQUOT_CLI_CDI_FILES_H
#define ALIQUOT_CLI_CDI_FILES_H

#include <stddef.h>

#include "common/error.h"

/* Reads a whole file into memory that the caller frees with free(). */
int files_read(const char *path, char **ret, size_t *ret_bytes, struct error *err);

/* Write a file that every user may read. */
int files_write(const char *path, const char *bytes, size_t count, struct error *err);
int files_replace(const char *path, const char *bytes, size_t count, struct error *err);

/* Makes a folder, given as an absolute path, and its parents, with mode 0755. Success if it already
 * exists. */
int files_make_folder(const char *path, struct error *err);

/* Removes a folder with everything in it. It need not exist. */
void files_remove_folder(const char *path);

/* Makes sure that the file's name in its folder is on disk. */
int files_sync_parent(const char *path, struct error *err);

#endif
