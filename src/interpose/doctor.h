/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An interposed process's report on itself, for `aliquot doctor`.
 *
 * Every library of ours exports these functions; find them with dlsym, they are not part of a
 * driver's interface. Strings stay valid for the life of the process. A question about an API opens
 * its real library.
 */
#ifndef ALIQUOT_INTERPOSE_DOCTOR_H
#define ALIQUOT_INTERPOSE_DOCTOR_H

#include <stdbool.h>

struct doctor_api {
        const char *name;     /* "cuda" */
        const char *soname;   /* "libcuda.so.1" */
        const char *variable; /* the environment variable that names the real library */
        const char *library;  /* path of the real library; "" if none was found */
        bool is_open;         /* false with a library: it was found but does not load */
        void *handle;         /* of the open library: dlsym() on it returns no hooks */
        unsigned row_count;
        unsigned missing_count; /* rows that the library lacks */
        unsigned unknown_count; /* functions of the library without a row */
        int table_version;      /* the rows cover this version fully; 0: the API has no versions */
};

struct doctor_row {
        const char *symbol;
        const char *kind; /* pass, hook */
        const char *why;
        unsigned since;
        bool is_in_library;
};

struct doctor_door {
        const char *name;   /* dlopen, dlmopen, dlsym, dlvsym, and each API's SONAME */
        const char *object; /* the object that the program reaches by it; "" for none */
        bool is_ours;
};

unsigned aliquot_doctor_apis(void);
/* These return false if the number is beyond the last. */
bool aliquot_doctor_api(unsigned number, struct doctor_api *ret);
bool aliquot_doctor_row(unsigned api, unsigned row, struct doctor_row *ret);
bool aliquot_doctor_door(unsigned number, struct doctor_door *ret);

/* Calls `each` for every function of the real library that the table lacks. */
void aliquot_doctor_unknown(unsigned api, void (*each)(const char *name, void *arg), void *arg);

#endif
