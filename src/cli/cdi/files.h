/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that others read while we write: whole, or as they were before.
 *
 * What fails is one line with the path. files_write() is for a new path; files_replace() writes
 * beside `path`, under a name that no reader of the folder takes for one of its own, and renames.
 * Everything is on disk when they return: a machine that goes down later has it.
 */
#ifndef ALIQUOT_CLI_CDI_FILES_H
#define ALIQUOT_CLI_CDI_FILES_H

#include <stddef.h>

#include "common/error.h"

/* All of a file into memory that is the caller's to free(). */
int files_read(const char *path, char **ret, size_t *ret_bytes, struct error *err);

/* Readable by all. */
int files_write(const char *path, const char *bytes, size_t count, struct error *err);
int files_replace(const char *path, const char *bytes, size_t count, struct error *err);

/* An absolute path, with its parents; mode 0755. One that is there is fine. */
int files_make_folder(const char *path, struct error *err);

/* A folder of files and of folders of files; one that is not there is fine. */
void files_remove_folder(const char *path);

/* That a name in its folder is on disk. */
int files_sync_parent(const char *path, struct error *err);

#endif
