/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions through which `aliquot doctor` inspects the library that is loaded in its process.
 *
 * Every library of ours exports these functions. Find them with dlsym(), since they are not part of
 * a driver's interface. Strings stay valid for the life of the process. A call about an API opens
 * its real library.
 */
#ifndef ALIQUOT_INTERPOSE_DOCTOR_H
#define ALIQUOT_INTERPOSE_DOCTOR_H

#include <stdbool.h>

/* An API and its real library. */
struct doctor_api {
        const char *name;       /* "cuda" */
        const char *soname;     /* "libcuda.so.1" */
        const char *variable;   /* the environment variable that names the real library */
        const char *library;    /* path of the real library; "" if none was found */
        bool is_open;           /* false although `library` is set: the library does not load */
        void *handle;           /* handle of the open library; dlsym() with it returns no hooks */
        unsigned row_count;     /* entries of our table */
        unsigned missing_count; /* entries of our table that the library lacks */
        unsigned unknown_count; /* functions of the library that our table lacks */
        /* the table has all functions of this CUDA version; 0: the API has no versions */
        int table_version;
};

/* An entry of an API's table. */
struct doctor_row {
        const char *symbol;
        const char *kind; /* "pass": calls go to the real library; "hook": to our function */
        const char *why;  /* reason for `kind` */
        unsigned since;   /* CUDA version that introduced the function */
        bool is_in_library;
};

/* A name through which the program reaches a library, and what it finds. */
struct doctor_door {
        const char *name; /* dlopen, dlmopen, dlsym, dlvsym, or an API's SONAME */
        /* path of the object that the program finds through the name; "": none */
        const char *object;
        bool is_ours; /* that object is our library */
};

/* Returns the number of APIs. */
unsigned aliquot_doctor_apis(void);
/* Describe an API, an entry of an API's table, or a door. False: the number is beyond the last. */
bool aliquot_doctor_api(unsigned number, struct doctor_api *ret);
bool aliquot_doctor_row(unsigned api, unsigned row, struct doctor_row *ret);
bool aliquot_doctor_door(unsigned number, struct doctor_door *ret);

/* Calls `each` for every function of the real library that our table lacks. */
void aliquot_doctor_unknown(unsigned api, void (*each)(const char *name, void *arg), void *arg);

#endif
