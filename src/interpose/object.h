/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the symbols of loaded objects and of files, without the loader.
 *
 * dlsym would reset the program's pending dlerror(), take the loader's lock, and is itself
 * interposed. Loaded objects are trusted (the loader relocated them); files are not, and every
 * offset in them is checked.
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
        const uint32_t *sysv_hash;  /* DT_HASH; used without gnu_hash */
        const ElfW(Half) * version; /* one per symbol, or NULL */
};

/* Reads a loaded object's dynamic section. False if it has no symbols to look up. */
bool elf_read(uintptr_t base, const ElfW(Dyn) * dynamic, struct elf *ret);

/* The loaded object with this SONAME; false if there is none. */
bool elf_find_loaded(const char *soname, struct elf *ret);

/* The address of a defined function or object of the default version, or NULL. */
void *elf_symbol(const struct elf *elf, const char *name);

/* Whether elf_symbol() would find one; runs no resolver of the object. */
bool elf_defines(const struct elf *elf, const char *name);

/* Calls `each` with the name of every defined global symbol but variables, until it returns
 * false. */
typedef bool elf_visitor(const char *name, void *arg);
void elf_each_function(const struct elf *elf, elf_visitor *each, void *arg);

/* The kinds of file that the search distinguishes. */
enum elf_file {
        ELF_FILE_ABSENT,  /* missing, unreadable, or not a shared library for this machine */
        ELF_FILE_LIBRARY, /* a shared library that does not define the symbol */
        ELF_FILE_DEFINES, /* a shared library that defines the symbol */
};
enum elf_file elf_file_kind(const char *path, const char *symbol);

/* Whether the file is a shared library for this machine with this SONAME. */
bool elf_file_is_named(const char *path, const char *soname);

#endif
