/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts calls; see calls.h.
 *
 * The addresses of the library and the driver are looked up once, at the first call that is
 * counted. The library is in the global symbol scope by then: it is preloaded, or replaces the
 * driver. A function's name gets its index, which all processes share, when a process first calls
 * the function.
 */
#include "sim/context/calls.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <string.h>

#include "common/atomic.h"
#include "sim/node/node.h"

/* SELF_MARK of src/interpose/self.h without its end. The end is added at run time, because a file
 * that contains the complete name is taken for Aliquot's library, for example by `aliquot
 * doctor`. */
static char library_mark[] = "aliquot_is_us.";

struct mapped_extent {
        const void *within; /* any address in the object */
        uintptr_t start, end;
};

static struct mapped_extent library, driver = { .within = &driver };

static int extent_find(struct dl_phdr_info *info, size_t size, void *argument)
{
        struct mapped_extent *extent = argument;
        uintptr_t within = (uintptr_t)extent->within, start = UINTPTR_MAX, end = 0;

        (void)size;
        for (unsigned i = 0; i < info->dlpi_phnum; i++) {
                uintptr_t at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

                if (info->dlpi_phdr[i].p_type != PT_LOAD)
                        continue;
                if (at < start)
                        start = at;
                if (at + info->dlpi_phdr[i].p_memsz > end)
                        end = at + info->dlpi_phdr[i].p_memsz;
        }
        if (within < start || within >= end)
                return 0;
        extent->start = start;
        extent->end = end;
        return 1;
}

static void extents_find(void)
{
        library_mark[sizeof(library_mark) - 2] = '\0';
        library.within = dlsym(RTLD_DEFAULT, library_mark);
        if (library.within)
                dl_iterate_phdr(extent_find, &library);
        dl_iterate_phdr(extent_find, &driver);
}

static bool contains(const struct mapped_extent *extent, const void *address)
{
        return (uintptr_t)address >= extent->start && (uintptr_t)address < extent->end;
}

/* Finds or adds the index of a function's name. 0: the table is full, or the name is too long. */
static uint32_t number_of(struct sim_node *node, const char *function)
{
        uint32_t number = 1;

        if (strlen(function) >= sizeof(node->call_name[0]))
                return 0;
        node_lock(node);
        while (number < NODE_CALLS && node->call_name[number][0] &&
               strcmp(node->call_name[number], function) != 0)
                number++;
        if (number == NODE_CALLS)
                number = 0;
        else if (!node->call_name[number][0])
                memcpy(node->call_name[number], function, strlen(function) + 1);
        pthread_mutex_unlock(&node->lock);
        return number;
}

void calls_count(struct api_site *site, const void *caller)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        struct sim_node *node = node_get();
        const struct node_row *row = node_self();
        uint32_t number = load_relaxed(&site->call);

        pthread_once(&once, extents_find);
        if (!row || contains(&driver, caller))
                return;
        if (!number) {
                number = number_of(node, site->name);
                store_relaxed(&site->call, number);
        }
        if (number)
                add_relaxed(
                        &node->calls[row->tag][number]
                                    [contains(&library, caller) ? CALLER_LIBRARY : CALLER_PROGRAM],
                        1);
}
