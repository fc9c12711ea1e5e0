/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an interposed process can say of itself, for `aliquot doctor`.
 *
 * Exported by every library of ours (dlsym them; they are no part of any driver's interface).
 * All strings stay valid for the life of the process. Asking about an API opens its real library.
 */
#ifndef ALIQUOT_INTERPOSE_DOCTOR_H
#define ALIQUOT_INTERPOSE_DOCTOR_H

#include <stdbool.h>

struct doctor_api {
        const char *name;     /* "cuda" */
        const char *soname;   /* "libcuda.so.1" */
        const char *variable; /* the environment variable that names the real library */
        const char *library;  /* path of the real library; "" if none was found */
        bool is_open;         /* false with a library: it was found and does not load */
        void *handle;         /* of the open library itself: dlsym() on it passes no hook of ours */
        unsigned row_count;
        unsigned missing_count; /* rows that the library lacks */
        unsigned unknown_count; /* functions of the library that have no row */
        int table_version;      /* the rows are all that this version has; 0: it has no versions */
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
        const char *object; /* what the program reaches through it; "" for nothing */
        bool is_ours;
};

unsigned aliquot_doctor_apis(void);
/* Each false when the number is beyond the last. */
bool aliquot_doctor_api(unsigned number, struct doctor_api *ret);
bool aliquot_doctor_row(unsigned api, unsigned row, struct doctor_row *ret);
bool aliquot_doctor_door(unsigned number, struct doctor_door *ret);

/* Calls `each` with every function of the real library that the table lacks. */
void aliquot_doctor_unknown(unsigned api, void (*each)(const char *name, void *arg), void *arg);

#endif
