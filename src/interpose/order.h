/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of objects in the loader's list, and which other objects define a name.
 *
 * A lookup along the list (RTLD_DEFAULT, RTLD_NEXT) finds our library in place of the real one, or
 * not at all. Other objects that it would have found must still be found.
 */
#ifndef ALIQUOT_INTERPOSE_ORDER_H
#define ALIQUOT_INTERPOSE_ORDER_H

#include <link.h>
#include <stdbool.h>

struct order {
        bool is_caller_before_us;
        /* The first object that defines the name, except ours and the real libraries; or NULL. */
        struct link_map *first;
        /* The same among the objects behind the caller. */
        struct link_map *next;
};

/* Finds the order; walks the loader's list once. */
void order_of(const char *symbol, const void *caller, struct order *ret);

/* Whether some loaded object needs this library (DT_NEEDED). */
bool order_is_needed(const char *soname);

#endif
