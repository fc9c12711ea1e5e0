/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables, as the list of steps that created them.
 *
 * A database's user_version is the number of steps applied to it. Opening it applies the rest, each
 * in a transaction of its own, so that a daemon that dies in between leaves a complete older
 * version. A released step never changes: new ones follow it.
 */
#ifndef ALIQUOT_DAEMON_DATABASE_DATABASE_SCHEMA_H
#define ALIQUOT_DAEMON_DATABASE_DATABASE_SCHEMA_H

#include <sqlite3.h>

#include "common/error.h"

#define SCHEMA_APPLICATION 0x616c7154 /* "alqT", in the file's header: marks our files */

/* SQL of the step to version i + 1. */
extern const char *const schema_steps[];
extern const int schema_version; /* how many there are */

/* Applies the steps from `version` on. Returns an SQLite result. */
int schema_migrate(sqlite3 *handle, int version);

/* Runs `sql`, which returns one whole number. Returns an SQLite result. */
int schema_number(sqlite3 *handle, const char *sql, int *ret);

#endif
