/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols of loaded objects and of files, read without the loader's help.
 *
 * Why not dlsym: it resets the program's pending dlerror(), takes the loader's lock, and is itself
 * what we interpose. Loaded objects are trusted (the loader relocated them); files are not, and
 * every offset in them is checked.
 */
#ifndef ALIQUOT_INTERPOSE_OBJECT_H
#define ALIQUOT_INTERPOSE_OBJECT_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct elf {
        uintptr_t base;
        const char *soname; /* NULL if it has none */
        const ElfW(Sym) * symbol;
        const char *strings;
        const uint32_t *gnu_hash;
        const uint32_t *sysv_hash;  /* DT_HASH; used when there is no gnu_hash */
        const ElfW(Half) * version; /* one a symbol, or NULL */
};

/* Reads a loaded object's dynamic section. False if it has no symbols to look up. */
bool elf_read(uintptr_t base, const ElfW(Dyn) * dynamic, struct elf *ret);

/* The loaded object with this SONAME; false if there is none. */
bool elf_find_loaded(const char *soname, struct elf *ret);

/* Address of a defined, default-version function or object, or NULL. */
void *elf_symbol(const struct elf *elf, const char *name);

/* Whether there is one; runs nothing of the object's. */
bool elf_defines(const struct elf *elf, const char *name);

/* Calls `each` with the name of every defined global symbol that is no variable until it says
 * false. */
typedef bool elf_visitor(const char *name, void *arg);
void elf_each_function(const struct elf *elf, elf_visitor *each, void *arg);

/* What a file is to us. */
enum elf_file {
        ELF_FILE_ABSENT,  /* not there, unreadable, or not a shared library for this machine */
        ELF_FILE_LIBRARY, /* one, and it does not define the symbol */
        ELF_FILE_DEFINES, /* one that defines the symbol */
};
enum elf_file elf_file_kind(const char *path, const char *symbol);

/* Whether the file is a shared library for this machine with this SONAME. */
bool elf_file_is_named(const char *path, const char *soname);

#endif
