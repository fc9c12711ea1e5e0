/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dl_iterate_phdr() calls back under the loader's lock. The callback may call no other loader
 * function, since those take their locks in the opposite order. So it records objects as addresses.
 */
#include "interpose/order.h"

#include <stdint.h>
#include <string.h>

#include "interpose/libc.h"
#include "interpose/object.h"
#include "interpose/library.h"
#include "interpose/self.h"

/* What walk_object() searches for and has found. */
struct walk {
        const char *symbol;
        const void *caller;
        bool is_us_seen, is_caller_seen, is_caller_before_us;
        /* as in struct order, by addresses inside the objects; NULL: none */
        const void *first, *next;
};

static bool object_contains(const struct dl_phdr_info *info, const void *address)
{
        uintptr_t offset = (uintptr_t)address - info->dlpi_addr;

        for (unsigned i = 0; i < info->dlpi_phnum; i++) {
                const ElfW(Phdr) *p = &info->dlpi_phdr[i];

                if (p->p_type == PT_LOAD && offset - p->p_vaddr < p->p_memsz)
                        return true;
        }
        return false;
}

static const ElfW(Dyn) * object_dynamic(const struct dl_phdr_info *info)
{
        for (unsigned i = 0; i < info->dlpi_phnum; i++)
                if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
                        return (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        return NULL;
}

static int walk_object(struct dl_phdr_info *info, size_t size, void *arg)
{
        struct walk *w = arg;
        const ElfW(Dyn) *dynamic = object_dynamic(info);
        bool is_caller = object_contains(info, w->caller);
        struct elf elf;

        if (object_contains(info, aliquot_is_us)) {
                w->is_us_seen = true;
                return 0;
        }
        if (!dynamic || library_containing(dynamic))
                return 0;
        if (elf_read(info->dlpi_addr, dynamic, &elf) && elf_defines(&elf, w->symbol)) {
                if (!w->first)
                        w->first = dynamic;
                if (!w->next && w->is_caller_seen)
                        w->next = dynamic;
        }
        if (is_caller) {
                w->is_caller_seen = true;
                w->is_caller_before_us = !w->is_us_seen;
        }
        return 0;
}

void order_of(const char *symbol, const void *caller, struct order *ret)
{
        struct walk w = { .symbol = symbol, .caller = caller };

        dl_iterate_phdr(walk_object, &w);
        *ret = (struct order){ .is_caller_before_us = w.is_caller_before_us,
                               .first = libc_map_of(w.first),
                               .next = libc_map_of(w.next) };
}

static int needs_library(struct dl_phdr_info *info, size_t size, void *arg)
{
        const char *soname = arg;
        const ElfW(Dyn) *dynamic = object_dynamic(info);
        struct elf elf;

        if (!dynamic || !elf_read(info->dlpi_addr, dynamic, &elf))
                return 0;
        for (const ElfW(Dyn) *d = dynamic; d->d_tag != DT_NULL; d++)
                if (d->d_tag == DT_NEEDED && strcmp(elf.strings + d->d_un.d_val, soname) == 0)
                        return 1;
        return 0;
}

bool order_is_needed(const char *soname)
{
        return dl_iterate_phdr(needs_library, (void *)(uintptr_t)soname) == 1;
}
