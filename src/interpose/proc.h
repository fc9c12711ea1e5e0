/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers an API's own lookup by name and version (cuGetProcAddress) with our functions.
 *
 * The driver decides what a request means. If its answer is a function that we hook, the caller
 * gets our function with the same ABI instead:
 *
 *      row = proc_find(&query);
 *      known = proc_known(&query, row);        // asked before: done
 *      rc = the driver's own lookup, into `address`;
 *      address = proc_settle(&query, row, address);
 *
 * The driver's pointer identifies the entry. The table decides only if the pointer matches none of
 * the driver's exports. The answer is kept per row, so the driver is asked once for each row.
 */
#ifndef ALIQUOT_INTERPOSE_PROC_H
#define ALIQUOT_INTERPOSE_PROC_H

#include "interpose/api.h"

struct proc_query {
        const struct api *api;
        const char *name;
        int version;
        bool is_per_thread;
        /* Above this version the driver is asked every time: it may know an ABI that the table
         * lacks, or not know the version. */
        int trusted_version;
        /* Asks the driver for the same name and flags at another version; NULL if it has none. */
        void *(*ask)(const struct proc_query *query, int version);
};

/* The row with the newest ABI up to the version, per-thread if asked; NULL if there is none. */
const struct proc_row *proc_find(const struct proc_query *query);

/* The answer kept for the row, or NULL. */
void *proc_known(const struct proc_query *query, const struct proc_row *row);

/* The answer for the caller if the driver returned `address`. */
void *proc_settle(const struct proc_query *query, const struct proc_row *row, void *address);

/* The answer if the driver has no such lookup: the newest ABI up to the version among its exports.
 * NULL if there is none. */
void *proc_exported(const struct proc_query *query, const struct proc_row *row);

/* Whether the table has the name, with any version. */
bool proc_is_name(const struct proc_query *query);

#endif
