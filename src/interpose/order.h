/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds which objects in the loader's list define a name, and their order relative to our library.
 *
 * A lookup along the list (RTLD_DEFAULT, RTLD_NEXT) may find our library where the real one would
 * be, or may pass our library by. Without us it would have found another object in some cases; that
 * object must still be found.
 */
#ifndef ALIQUOT_INTERPOSE_ORDER_H
#define ALIQUOT_INTERPOSE_ORDER_H

#include <link.h>
#include <stdbool.h>

/* The definitions of a name, except those of our library and of the real libraries. */
struct order {
        bool is_caller_before_us; /* the caller is before our library in the list */
        /* The first object in the list that defines the name; NULL: none. */
        struct link_map *first;
        /* The first object behind the caller that defines the name; NULL: none. */
        struct link_map *next;
};

/* Finds the definitions of `symbol`, for a call from the address `caller`, in one pass over the
 * loader's list. */
void order_of(const char *symbol, const void *caller, struct order *ret);

/* Whether a loaded object needs the library `soname` (DT_NEEDED). */
bool order_is_needed(const char *soname);

#endif
