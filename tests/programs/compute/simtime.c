/* SPDX-License-Identifier: Apache-2.0 */
#include "simtime.h"

#include <link.h>
#include <stddef.h>

#include "common/clock.h"
#include "interpose/object.h"
#include "watch.h"

#define LOOK_NS UINT64_C(100000)

static int look(struct dl_phdr_info *info, size_t size, void *ret)
{
        time_authority_find **found = ret;
        struct elf elf;

        (void)size;
        for (unsigned i = 0; i < info->dlpi_phnum; i++) {
                const ElfW(Phdr) *part = &info->dlpi_phdr[i];
                uintptr_t at = info->dlpi_addr + part->p_vaddr;

                if (part->p_type == PT_DYNAMIC &&
                    elf_read(info->dlpi_addr, (const ElfW(Dyn) *)at, &elf))
                        *found = (time_authority_find *)(uintptr_t)elf_symbol(
                                &elf, TIME_AUTHORITY_SYMBOL);
        }
        return *found != NULL;
}

void simtime_sleep_from_first_work(const CUuuid *uuid, uint64_t ns)
{
        while (!watch_busy_all(uuid))
                clock_sleep_ns(LOOK_NS);
        clock_sleep_ns(ns);
}

void simtime_follow(void)
{
        time_authority_find *found = NULL;

        dl_iterate_phdr(look, &found);
        if (found)
                clock_follow(found(TIME_AUTHORITY_VERSION));
}
