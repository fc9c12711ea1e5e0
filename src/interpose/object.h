/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the symbols of loaded objects and of files, without the loader's functions.
 *
 * dlsym() would reset the program's pending dlerror() and take the loader's lock, and is itself
 * interposed. Loaded objects are trusted, since the loader has relocated them. Files are not
 * trusted: every offset in them is checked.
 */
#ifndef ALIQUOT_INTERPOSE_OBJECT_H
#define ALIQUOT_INTERPOSE_OBJECT_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* The symbol tables of a loaded object. */
struct elf {
        uintptr_t base;
        const char *soname; /* NULL: the object has none */
        const ElfW(Sym) * symbol;
        const char *strings;
        const uint32_t *gnu_hash;
        const uint32_t *sysv_hash;  /* DT_HASH; used only if gnu_hash is NULL */
        const ElfW(Half) * version; /* version numbers, one per symbol; NULL: the object has none */
};

/* Reads a loaded object's dynamic section. False: the object has no symbols to look up. */
bool elf_read(uintptr_t base, const ElfW(Dyn) * dynamic, struct elf *ret);

/* Finds the loaded object with this SONAME; false: there is none. */
bool elf_find_loaded(const char *soname, struct elf *ret);

/* Returns the address of the function or variable `name` that the object defines as its default
 * version, or NULL. Calls the object's resolver for an indirect function. */
void *elf_symbol(const struct elf *elf, const char *name);

/* Whether elf_symbol() would find the name; calls no resolver. */
bool elf_defines(const struct elf *elf, const char *name);

/* Calls `each` with the name of every global symbol that the object defines, except variables,
 * until `each` returns false. */
typedef bool elf_visitor(const char *name, void *arg);
void elf_each_function(const struct elf *elf, elf_visitor *each, void *arg);

/* Kinds of files, as elf_file_kind() distinguishes them. */
enum elf_file {
        ELF_FILE_ABSENT,  /* missing, unreadable, or not a shared library for this machine */
        ELF_FILE_LIBRARY, /* a shared library that does not define the symbol */
        ELF_FILE_DEFINES, /* a shared library that defines the symbol */
};
/* Whether the file is a shared library for this machine, and defines `symbol`. */
enum elf_file elf_file_kind(const char *path, const char *symbol);

/* Whether the file is a shared library for this machine whose SONAME is `soname`. */
bool elf_file_is_named(const char *path, const char *soname);

#endif
