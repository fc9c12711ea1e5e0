/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two readers. That of loaded objects reads the dynamic section as the loader left it. That of
 * files reads the section headers; a file without section headers counts as one that defines
 * nothing. That is right for elf_file_kind(), which looks for a symbol of our libraries: they
 * always have section headers.
 */
#include "interpose/object.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "common/scoped.h"
#include "interpose/api.h"
#include "interpose/self.h"

#define VERSION_HIDDEN 0x8000u /* set for a symbol that is not the default version of its name */

/* Returns a pointer from the dynamic section. On most machines glibc relocates such pointers in
 * place. If the section is read-only it does not, and the value is still an offset. */
static const void *dynamic_pointer(uintptr_t base, const ElfW(Dyn) * d)
{
        uintptr_t value = d->d_un.d_ptr;

        return (const void *)(value < base ? base + value : value);
}

bool elf_read(uintptr_t base, const ElfW(Dyn) * dynamic, struct elf *ret)
{
        struct elf elf = { .base = base };
        ElfW(Xword) soname = 0;

        for (const ElfW(Dyn) *d = dynamic; d && d->d_tag != DT_NULL; d++) {
                switch (d->d_tag) {
                case DT_SYMTAB:
                        elf.symbol = dynamic_pointer(base, d);
                        break;
                case DT_STRTAB:
                        elf.strings = dynamic_pointer(base, d);
                        break;
                case DT_GNU_HASH:
                        elf.gnu_hash = dynamic_pointer(base, d);
                        break;
                case DT_HASH:
                        elf.sysv_hash = dynamic_pointer(base, d);
                        break;
                case DT_VERSYM:
                        elf.version = dynamic_pointer(base, d);
                        break;
                case DT_SONAME:
                        soname = d->d_un.d_val;
                        break;
                default:
                        break;
                }
        }
        if (!elf.symbol || !elf.strings || (!elf.gnu_hash && !elf.sysv_hash))
                return false;
        if (soname)
                elf.soname = elf.strings + soname;
        *ret = elf;
        return true;
}

static bool is_wanted(const struct elf *elf, uint32_t index, const char *name)
{
        const ElfW(Sym) *s = &elf->symbol[index];

        return s->st_shndx != SHN_UNDEF && ELF64_ST_BIND(s->st_info) != STB_LOCAL &&
               ELF64_ST_TYPE(s->st_info) != STT_TLS &&
               !(elf->version && (elf->version[index] & VERSION_HIDDEN)) &&
               text_equals(elf->strings + s->st_name, name);
}

static void *symbol_address(const struct elf *elf, uint32_t index)
{
        const ElfW(Sym) *s = &elf->symbol[index];
        uintptr_t address = elf->base + s->st_value;

        if (ELF64_ST_TYPE(s->st_info) == STT_GNU_IFUNC)
                return ((void *(*)(void))address)();
        return (void *)address;
}

static uint32_t gnu_hash(const char *name)
{
        uint32_t h = 5381;

        for (; *name; name++)
                h = h * 33 + (uint8_t)*name;
        return h;
}

static uint32_t sysv_hash(const char *name)
{
        uint32_t h = 0;

        for (; *name; name++) {
                h = (h << 4) + (uint8_t)*name;
                h = (h ^ ((h >> 24) & 0xf0)) & 0x0fffffff;
        }
        return h;
}

/* The parts of a DT_GNU_HASH section, which is: a header of four words, a bloom filter,
 * buckets, chains. */
struct gnu_table {
        uint32_t bucket_count, first;
        const uint32_t *bucket, *chain;
};

static struct gnu_table gnu_table_of(const struct elf *elf)
{
        const uint32_t *head = elf->gnu_hash;
        const ElfW(Addr) *bloom = (const void *)(head + 4);
        const uint32_t *bucket = (const void *)(bloom + head[2]);

        return (struct gnu_table){ .bucket_count = head[0],
                                   .first = head[1],
                                   .bucket = bucket,
                                   .chain = bucket + head[0] };
}

/* Returns the index of a symbol; 0, which is never a symbol: there is none. */
static uint32_t gnu_index(const struct elf *elf, const char *name)
{
        struct gnu_table t = gnu_table_of(elf);
        uint32_t hash = gnu_hash(name);
        uint32_t index = t.bucket_count ? t.bucket[hash % t.bucket_count] : 0;

        if (index == 0 || index < t.first)
                return 0;
        for (;; index++) {
                uint32_t link = t.chain[index - t.first];

                if ((link | 1) == (hash | 1) && is_wanted(elf, index, name))
                        return index;
                if (link & 1)
                        return 0;
        }
}

static uint32_t symbol_index(const struct elf *elf, const char *name)
{
        if (elf->gnu_hash)
                return gnu_index(elf, name);

        const uint32_t *bucket = elf->sysv_hash + 2;
        const uint32_t *chain = bucket + elf->sysv_hash[0];

        if (elf->sysv_hash[0] == 0)
                return 0;
        for (uint32_t i = bucket[sysv_hash(name) % elf->sysv_hash[0]]; i; i = chain[i])
                if (is_wanted(elf, i, name))
                        return i;
        return 0;
}

void *elf_symbol(const struct elf *elf, const char *name)
{
        uint32_t index = symbol_index(elf, name);

        return index ? symbol_address(elf, index) : NULL;
}

bool elf_defines(const struct elf *elf, const char *name)
{
        return symbol_index(elf, name) != 0;
}

/* Returns the number of symbols. DT_GNU_HASH does not contain it; the end of the highest chain
 * shows it. */
static uint32_t symbol_count(const struct elf *elf)
{
        if (!elf->gnu_hash)
                return elf->sysv_hash[1];

        struct gnu_table t = gnu_table_of(elf);
        uint32_t last = 0;

        for (uint32_t i = 0; i < t.bucket_count; i++)
                if (t.bucket[i] > last)
                        last = t.bucket[i];
        if (last < t.first)
                return 0;
        while (!(t.chain[last - t.first] & 1))
                last++;
        return last + 1;
}

void elf_each_function(const struct elf *elf, elf_visitor *each, void *arg)
{
        uint32_t count = symbol_count(elf);

        for (uint32_t i = 1; i < count; i++) {
                const ElfW(Sym) *s = &elf->symbol[i];

                if (s->st_shndx == SHN_UNDEF || ELF64_ST_BIND(s->st_info) == STB_LOCAL ||
                    ELF64_ST_TYPE(s->st_info) == STT_OBJECT)
                        continue;
                if (!each(elf->strings + s->st_name, arg))
                        return;
        }
}

struct loaded_search {
        const char *soname;
        struct elf *found;
};

static int is_loaded_object(struct dl_phdr_info *info, size_t size, void *arg)
{
        struct loaded_search *search = arg;
        struct elf elf;

        for (unsigned i = 0; i < info->dlpi_phnum; i++) {
                const ElfW(Phdr) *p = &info->dlpi_phdr[i];

                if (p->p_type != PT_DYNAMIC ||
                    !elf_read(info->dlpi_addr, (const void *)(info->dlpi_addr + p->p_vaddr), &elf))
                        continue;
                if (!elf.soname || !text_equals(elf.soname, search->soname))
                        continue;
                *search->found = elf;
                return 1;
        }
        return 0;
}

/* The C library is the last object that the loader loads at program start. Objects up to it in the
 * list are never unloaded, so that part of the list can be read without the loader's lock. */
#define LAST_AT_START "libc.so.6"

/* Searches the objects that were loaded at program start, in the loader's list itself.
 * dl_iterate_phdr() may be a sanitizer's, which fails before its runtime has started. The list is
 * that of the first linker namespace, so it is used only if it contains our library. */
static bool find_at_start(const char *soname, struct elf *ret)
{
        bool is_us_seen = false;
        struct elf elf;

        for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
                is_us_seen = is_us_seen || map->l_addr == (uintptr_t)self_header();
                if (!map->l_ld || !elf_read(map->l_addr, map->l_ld, &elf) || !elf.soname)
                        continue;
                if (is_us_seen && text_equals(elf.soname, soname)) {
                        *ret = elf;
                        return true;
                }
                if (text_equals(elf.soname, LAST_AT_START))
                        return false;
        }
        return false;
}

bool elf_find_loaded(const char *soname, struct elf *ret)
{
        struct loaded_search search = { soname, ret };

        return find_at_start(soname, ret) || dl_iterate_phdr(is_loaded_object, &search) == 1;
}

/* A file in memory; its contents are not trusted. */
struct object_file {
        const uint8_t *bytes;
        uint64_t size;
};

static const void *image_at(struct object_file image, uint64_t offset, uint64_t bytes)
{
        if (offset > image.size || bytes > image.size - offset)
                return NULL;
        return image.bytes + offset;
}

static bool is_library_for_this_machine(struct object_file image)
{
        const ElfW(Ehdr) *own = self_header();
        const ElfW(Ehdr) *e = image_at(image, 0, sizeof(*e));

        return e && memcmp(e->e_ident, ELFMAG, SELFMAG) == 0 &&
               e->e_ident[EI_CLASS] == own->e_ident[EI_CLASS] && e->e_machine == own->e_machine &&
               e->e_type == ET_DYN;
}

static bool section_defines(struct object_file image, const ElfW(Shdr) * dynsym,
                            const ElfW(Shdr) * strtab, const char *symbol)
{
        size_t length = strlen(symbol) + 1;
        uint64_t count = dynsym->sh_size / sizeof(ElfW(Sym));
        const ElfW(Sym) *s = image_at(image, dynsym->sh_offset, count * sizeof(*s));

        for (uint64_t i = 0; s && i < count; i++) {
                const char *name = NULL;

                if (s[i].st_shndx != SHN_UNDEF && s[i].st_name < strtab->sh_size)
                        name = image_at(image, strtab->sh_offset + s[i].st_name, length);
                if (name && memcmp(name, symbol, length) == 0)
                        return true;
        }
        return false;
}

static bool image_defines(struct object_file image, const char *symbol)
{
        const ElfW(Ehdr) *e = image_at(image, 0, sizeof(*e));
        const ElfW(Shdr) *s = image_at(image, e->e_shoff, (uint64_t)e->e_shnum * sizeof(*s));

        if (e->e_shoff % _Alignof(ElfW(Shdr)) != 0)
                return false;
        for (unsigned i = 0; s && i < e->e_shnum; i++)
                if (s[i].sh_type == SHT_DYNSYM && s[i].sh_link < e->e_shnum &&
                    s[i].sh_offset % _Alignof(ElfW(Sym)) == 0)
                        return section_defines(image, &s[i], &s[s[i].sh_link], symbol);
        return false;
}

static bool section_names(struct object_file image, const ElfW(Shdr) * dynamic,
                          const ElfW(Shdr) * strtab, const char *soname)
{
        size_t length = strlen(soname) + 1;
        uint64_t count = dynamic->sh_size / sizeof(ElfW(Dyn));
        const ElfW(Dyn) *d = image_at(image, dynamic->sh_offset, count * sizeof(*d));
        const char *name = NULL;

        for (uint64_t i = 0; d && i < count && d[i].d_tag != DT_NULL; i++)
                if (d[i].d_tag == DT_SONAME && d[i].d_un.d_val < strtab->sh_size)
                        name = image_at(image, strtab->sh_offset + d[i].d_un.d_val, length);
        return name && memcmp(name, soname, length) == 0;
}

static bool image_is_named(struct object_file image, const char *soname)
{
        const ElfW(Ehdr) *e = image_at(image, 0, sizeof(*e));
        const ElfW(Shdr) *s = image_at(image, e->e_shoff, (uint64_t)e->e_shnum * sizeof(*s));

        if (e->e_shoff % _Alignof(ElfW(Shdr)) != 0)
                return false;
        for (unsigned i = 0; s && i < e->e_shnum; i++)
                if (s[i].sh_type == SHT_DYNAMIC && s[i].sh_link < e->e_shnum &&
                    s[i].sh_offset % _Alignof(ElfW(Dyn)) == 0)
                        return section_names(image, &s[i], &s[s[i].sh_link], soname);
        return false;
}

static bool image_open(const char *path, struct object_file *ret)
{
        scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        struct object_file image;
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
                return false;
        image.size = (uint64_t)st.st_size;
        image.bytes = mmap(NULL, image.size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (image.bytes == MAP_FAILED)
                return false;
        *ret = image;
        return true;
}

static void image_close(struct object_file image)
{
        munmap((void *)(uintptr_t)image.bytes, image.size);
}

enum elf_file elf_file_kind(const char *path, const char *symbol)
{
        struct object_file image;
        enum elf_file kind = ELF_FILE_ABSENT;

        if (!image_open(path, &image))
                return ELF_FILE_ABSENT;
        if (is_library_for_this_machine(image))
                kind = image_defines(image, symbol) ? ELF_FILE_DEFINES : ELF_FILE_LIBRARY;
        image_close(image);
        return kind;
}

bool elf_file_is_named(const char *path, const char *soname)
{
        struct object_file image;
        bool is_named;

        if (!image_open(path, &image))
                return false;
        is_named = is_library_for_this_machine(image) && image_is_named(image, soname);
        image_close(image);
        return is_named;
}
