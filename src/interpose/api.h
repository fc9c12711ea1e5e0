/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An interposed API: its table, its library, and the real address of each function.
 *
 * The table is generated (tools/gen-api) from a list of names; a front end adds one constant,
 * struct api, and its hooks. This folder does not know what the functions do.
 *
 * entry: one exported function. slot: holds the real library's address of it; at first a stub that
 * opens the library and binds. thunk: the function that we export for it.
 */
#ifndef ALIQUOT_INTERPOSE_API_H
#define ALIQUOT_INTERPOSE_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/atomic.h"

#define THUNK_BYTES                                                                  \
        32u /* every thunk is padded to this, so its address follows from its number \
             */

enum entry_class { ENTRY_PASS, ENTRY_HOOK };

struct entry {
        uint32_t name; /* offset into strings: pointers would cost relocations at program start */
        uint32_t why;
        uint16_t since;
        uint16_t kind; /* enum entry_class */
};

/* A name to look up by version, and the entry with that version's ABI. */
struct proc_row {
        uint32_t name;
        uint16_t entry;
        uint16_t since;
        uint16_t is_per_thread;
};

struct api_table {
        const char *strings;
        const struct entry *entry;
        const uint16_t *symbol; /* buckets of entry numbers + 1, by hash of the symbol */
        const struct proc_row *row;
        const uint16_t *base;  /* buckets of row numbers + 1, by hash of the base name */
        void *_Atomic *answer; /* one per row: our answer, once the driver was asked */
        void **slot;           /* this API's part of struct real */
        const char *thunk;     /* its first thunk */
        uint32_t entry_count;
        uint32_t symbol_mask;
        uint32_t row_count;
        uint32_t base_mask;
        int version; /* the table has every ABI up to this version */
};

struct library; /* library.h */
struct elf;     /* object.h */

struct api {
        const char *name;
        const char *soname;        /* libcuda.so.1 */
        const char *stem;          /* libcuda.so: also accepted, alone or with .N.N.N */
        const char *prefix;        /* common prefix of its functions' names */
        const char *variable;      /* environment variable that names the real library */
        int open_flags;            /* added to RTLD_NOW | RTLD_LOCAL */
        void (*no_library)(void);  /* replaces every function if there is no driver */
        void (*no_function)(void); /* replaces one that the driver lacks */
        /* Called when the library is open and none of its functions can be reached yet; NULL:
         * nothing to do. Several threads may call it, more than once. */
        void (*opened)(const struct elf *elf);
        const struct api_table *table;
        const struct library *_Atomic *library; /* NULL until opened; then for ever */
};

/* Every API of this build, then NULL. Defined by the front ends' folder. */
extern const struct api *const api_list[];

/* All thunks of all APIs, THUNK_BYTES apart (generated). */
extern const char thunk_first[];

#define API_NO_ENTRY (-1)

/* The number of a symbol in an API's table, or API_NO_ENTRY. */
int api_find(const struct api *api, const char *symbol);

/* The API whose prefix this symbol begins with, or NULL. */
const struct api *api_of_prefix(const char *symbol);

/* The API of a library's file name (libcuda.so, libcuda.so.1, /a/b/libcuda.so.535.1.2), or NULL. */
const struct api *api_of_file(const char *file);

/* FNV-1a, the same hash as in tools/gen-api. */
uint32_t api_hash(const char *text);

/*
 * The doors use these instead of strcmp() and strncmp(): a sanitizer replaces those two, and calls
 * dlsym, which is our door, before its replacements work.
 */
static inline bool text_equals(const char *a, const char *b)
{
        while (*a && *a == *b) {
                a++;
                b++;
        }
        return *a == *b;
}

static inline bool symbol_begins(const char *text, const char *prefix)
{
        while (*prefix && *text == *prefix) {
                text++;
                prefix++;
        }
        return *prefix == '\0';
}

static inline const char *entry_name(const struct api *api, unsigned entry)
{
        return api->table->strings + api->table->entry[entry].name;
}

static inline enum entry_class entry_class(const struct api *api, unsigned entry)
{
        return (enum entry_class)api->table->entry[entry].kind;
}

/* The function that we export for an entry. */
static inline void *entry_thunk(const struct api *api, unsigned entry)
{
        return (void *)(uintptr_t)(api->table->thunk + (size_t)THUNK_BYTES * entry);
}

#endif
