/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of the database, as the list of steps that create them.
 *
 * A database's user_version is the number of steps applied to it. Opening it applies the rest, each
 * in a transaction of its own, so that a daemon that dies in between leaves a complete older
 * version. A released step never changes; changes are added as new steps.
 */
#ifndef ALIQUOT_DAEMON_DATABASE_DATABASE_SCHEMA_H
#define ALIQUOT_DAEMON_DATABASE_DATABASE_SCHEMA_H

#include <sqlite3.h>

#include "common/error.h"

/* "alqT", application_id in the file's header, which identifies our databases */
#define SCHEMA_APPLICATION 0x616c7154

/* Element i is the SQL of the step from version i to i + 1. */
extern const char *const schema_steps[];
extern const int schema_version; /* number of steps */

/* Applies the steps up to `version` that the database lacks. Returns an SQLite result. */
int schema_migrate(sqlite3 *handle, int version);

/* Runs `sql`, which must return one whole number. Returns an SQLite result. */
int schema_number(sqlite3 *handle, const char *sql, int *ret);

#endif
