/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An interposed API: its table, its library, and the real address of each of its functions.
 *
 * The table is generated (tools/gen-api) from a list of names. A front end adds one constant,
 * struct api, and its hooks. The code of this folder does not know what the functions do.
 *
 * An entry is one exported function. Its slot holds the address of the real library's function;
 * until the library is open, the slot holds the address of a stub that opens the library and binds
 * the slots. Its thunk is the function that we export for it: a jump to the hook, or to the address
 * in the slot.
 */
#ifndef ALIQUOT_INTERPOSE_API_H
#define ALIQUOT_INTERPOSE_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/atomic.h"

/* every thunk is padded to this size, so its address follows from its number */
#define THUNK_BYTES 32u

/* Whether a thunk jumps to the real function, or to our hook. */
enum entry_class { ENTRY_PASS, ENTRY_HOOK };

/* An exported function. */
struct entry {
        /* offset in api_table.strings; pointers would cost relocations at program start */
        uint32_t name;
        uint32_t why;   /* offset of the reason for its class, for `aliquot doctor` */
        uint16_t since; /* CUDA version that introduced it */
        uint16_t kind;  /* enum entry_class */
};

/* One ABI of a function that programs look up by name and version (cuGetProcAddress). */
struct proc_row {
        uint32_t name;          /* offset of the base name in api_table.strings */
        uint16_t entry;         /* number of the entry with this ABI */
        uint16_t since;         /* CUDA version that introduced this ABI */
        uint16_t is_per_thread; /* the variant for the per-thread default stream */
};

/* The generated tables of one API. */
struct api_table {
        const char *strings;
        const struct entry *entry;
        /* hash table by symbol; each bucket holds an entry number + 1, or 0 */
        const uint16_t *symbol;
        const struct proc_row *row;
        /* hash table by base name; each bucket holds a row number + 1, or 0 */
        const uint16_t *base;
        /* one per row: the function that proc_settle() returned; NULL: none yet */
        void *_Atomic *answer;
        void **slot;       /* this API's part of `real`, the slots of all APIs */
        const char *thunk; /* this API's first thunk */
        uint32_t entry_count;
        uint32_t symbol_mask;
        uint32_t row_count;
        uint32_t base_mask;
        int version; /* the table has every ABI up to this CUDA version */
};

struct library; /* library.h */
struct elf;     /* object.h */

struct api {
        const char *name;
        const char *soname; /* of the library, such as "libcuda.so.1" */
        /* a file name that is also accepted, alone or followed by .N.N.N */
        const char *stem;
        const char *prefix;        /* common prefix of its functions' names */
        const char *variable;      /* environment variable that names the real library */
        int open_flags;            /* dlopen() flags, added to RTLD_NOW | RTLD_LOCAL */
        void (*no_library)(void);  /* called in place of every function if there is no driver */
        void (*no_function)(void); /* called in place of a function that the driver lacks */
        /* Called when the library is open, before any of its functions can be called through a
         * slot; NULL: not needed. Several threads may call it, and more than once. */
        void (*opened)(const struct elf *elf);
        const struct api_table *table;
        /* the open library, constant once it is set; NULL: not open yet */
        const struct library *_Atomic *library;
};

/* All APIs of this build, then NULL. Defined by the front ends. */
extern const struct api *const api_list[];

/* The thunks of all APIs, one every THUNK_BYTES (generated). */
extern const char thunk_first[];

#define API_NO_ENTRY (-1)

/* Returns the number of the symbol's entry in the API's table, or API_NO_ENTRY. */
int api_find(const struct api *api, const char *symbol);

/* Returns the API with whose prefix the symbol begins, or NULL. */
const struct api *api_of_prefix(const char *symbol);

/* Returns the API whose library has this file name (libcuda.so, libcuda.so.1,
 * /a/b/libcuda.so.535.1.2), or NULL. */
const struct api *api_of_file(const char *file);

/* Returns the FNV-1a hash of the text, as tools/gen-api computes it. */
uint32_t api_hash(const char *text);

/*
 * The doors use text_equals() and symbol_begins() instead of strcmp() and strncmp(). A sanitizer
 * replaces those two, and calls dlsym, which is our door, before its replacements work.
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

/* Returns the function that we export for an entry. */
static inline void *entry_thunk(const struct api *api, unsigned entry)
{
        return (void *)(uintptr_t)(api->table->thunk + (size_t)THUNK_BYTES * entry);
}

#endif
