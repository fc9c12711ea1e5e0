/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables, as the list of steps that led to them.
 *
 * A database's user_version is how many of the steps it has seen. Opening it takes the rest, each
 * in a transaction of its own, so that a daemon that dies in between finds a whole older version.
 * A step that was released is never changed: new ones follow it.
 */
#ifndef ALIQUOT_DAEMON_DATABASE_DATABASE_SCHEMA_H
#define ALIQUOT_DAEMON_DATABASE_DATABASE_SCHEMA_H

#include <sqlite3.h>

#include "common/error.h"

#define SCHEMA_APPLICATION 0x616c7154 /* "alqT", in the file's header: whose it is */

/* SQL of the step to version i + 1. */
extern const char *const schema_steps[];
extern const int schema_version; /* how many there are */

/* From whatever version it is at to `version`. An SQLite result. */
int schema_migrate(sqlite3 *handle, int version);

/* The one whole number that `sql` gives. An SQLite result. */
int schema_number(sqlite3 *handle, const char *sql, int *ret);

#endif
