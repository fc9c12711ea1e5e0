/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers an API's own lookup by name and version (cuGetProcAddress) with our functions.
 *
 * The driver decides which function a request means. If that is a function that we hook, the caller
 * gets our function with the same ABI instead:
 *
 *      row = proc_find(&query);
 *      known = proc_known(&query, row);        // not NULL: the result of an earlier request
 *      rc = the driver's own lookup, into `address`;
 *      address = proc_settle(&query, row, address);
 *
 * The pointer that the driver returns identifies the function. The table decides only if the
 * pointer is none of the driver's exports. The result is stored per row, so the driver is called
 * once per row.
 */
#ifndef ALIQUOT_INTERPOSE_PROC_H
#define ALIQUOT_INTERPOSE_PROC_H

#include "interpose/api.h"

/* A request of the program. */
struct proc_query {
        const struct api *api;
        const char *name;   /* without the suffix of a version */
        int version;        /* the program's CUDA version */
        bool is_per_thread; /* the variant for the per-thread default stream */
        /* For a version above this one the driver is called every time: it may know an ABI that the
         * table lacks, or not know the version. */
        int trusted_version;
        /* Calls the driver's lookup for the same name and flags, but another version; NULL: the
         * driver has no such function. */
        void *(*ask)(const struct proc_query *query, int version);
};

/* Returns the row of query->name with the newest ABI up to query->version, of the per-thread
 * variant if that is requested and exists. NULL: there is none. */
const struct proc_row *proc_find(const struct proc_query *query);

/* Returns the result that proc_settle() stored for the row; NULL: none, or the driver must
 * be called. */
void *proc_known(const struct proc_query *query, const struct proc_row *row);

/* Returns the function for the caller if the driver's lookup returned `address`: ours,
 * or `address`. */
void *proc_settle(const struct proc_query *query, const struct proc_row *row, void *address);

/* Returns the function for the caller if the driver has no lookup function: the newest ABI up to
 * the version among the driver's exports. NULL: there is none. */
void *proc_exported(const struct proc_query *query, const struct proc_row *row);

/* Whether the table has query->name, with any version. */
bool proc_is_name(const struct proc_query *query);

#endif
