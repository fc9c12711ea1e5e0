/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where objects stand in the loader's list, and who else defines a name.
 *
 * Needed because a lookup that runs along the list (RTLD_DEFAULT, RTLD_NEXT) finds us where the
 * real library would have been found, or not at all; what else it would have found is its
 * caller's right.
 */
#ifndef ALIQUOT_INTERPOSE_ORDER_H
#define ALIQUOT_INTERPOSE_ORDER_H

#include <link.h>
#include <stdbool.h>

struct order {
        bool is_caller_before_us;
        /* The first object but us and the real libraries that defines the name; NULL if none. */
        struct link_map *first;
        /* The same, looking behind the caller only. */
        struct link_map *next;
};

/* Finds the order; walks the loader's list once. */
void order_of(const char *symbol, const void *caller, struct order *ret);

/* Whether some loaded object names this library as one it needs. */
bool order_is_needed(const char *soname);

#endif
