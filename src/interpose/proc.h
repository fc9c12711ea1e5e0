/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An API's own lookup by name and version (cuGetProcAddress), answered with our functions.
 *
 * The driver decides what a request means; we only see to it that where its answer is a function
 * that we stand before, ours is given instead, the one with the same ABI:
 *
 *      row = proc_find(&query);
 *      known = proc_known(&query, row);        // asked before: done
 *      rc = the driver's own lookup, into `address`;
 *      address = proc_settle(&query, row, address);
 *
 * The driver's pointer tells which entry it is. Only where it matches none of the driver's exports
 * does the table decide. What was settled is kept a row, so that each row asks the driver once.
 */
#ifndef ALIQUOT_INTERPOSE_PROC_H
#define ALIQUOT_INTERPOSE_PROC_H

#include "interpose/api.h"

struct proc_query {
        const struct api *api;
        const char *name;
        int version;
        bool is_per_thread;
        /* Above this the driver is asked every time: it may know an ABI that the table does not,
         * or not know the version. */
        int trusted_version;
        /* Asks the driver for the same name and flags at another version; NULL if it says no. */
        void *(*ask)(const struct proc_query *query, int version);
};

/* The row with the newest ABI up to the version, per-thread if asked; NULL if there is none. */
const struct proc_row *proc_find(const struct proc_query *query);

/* What was answered before, or NULL. */
void *proc_known(const struct proc_query *query, const struct proc_row *row);

/* What to answer, where the driver answered `address`. */
void *proc_settle(const struct proc_query *query, const struct proc_row *row, void *address);

/* What to answer where the driver has no such lookup: of what it exports, the newest ABI up to the
 * version. NULL if there is none. */
void *proc_exported(const struct proc_query *query, const struct proc_row *row);

/* Whether the table has the name, with whatever version. */
bool proc_is_name(const struct proc_query *query);

#endif
