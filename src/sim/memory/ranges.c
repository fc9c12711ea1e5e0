/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The treap of address ranges. The priorities are hashed from a counter, so that runs are
 * repeatable.
 */
#include "sim/memory/ranges.h"

#include <stddef.h>

pthread_mutex_t ranges_lock = PTHREAD_MUTEX_INITIALIZER;
struct range_set outer_ranges, mapped_ranges;

/* Splits a tree into the ranges that start below `address` and the rest. */
static void split_tree(struct range *tree, CUdeviceptr address, struct range **below,
                       struct range **rest)
{
        while (tree) {
                if (tree->start < address) {
                        *below = tree;
                        below = &tree->right;
                        tree = tree->right;
                } else {
                        *rest = tree;
                        rest = &tree->left;
                        tree = tree->left;
                }
        }
        *below = NULL;
        *rest = NULL;
}

struct range *range_find(const struct range_set *set, CUdeviceptr address)
{
        struct range *range = set->root;

        while (range) {
                if (address < range->start)
                        range = range->left;
                else if (address >= range->end)
                        range = range->right;
                else
                        return range;
        }
        return NULL;
}

struct range *range_find_from(const struct range_set *set, CUdeviceptr address)
{
        struct range *range = set->root, *best = NULL;

        while (range) {
                if (address < range->end) {
                        best = range;
                        range = range->left;
                } else {
                        range = range->right;
                }
        }
        return best;
}

bool range_insert(struct range_set *set, struct range *range)
{
        static uint32_t counter;
        struct range *after = range_find_from(set, range->start);

        if (range->end <= range->start || (after && after->start < range->end))
                return false;
        counter += 0x9e3779b9u;
        range->priority = (counter ^ (counter >> 15)) * 0x85ebca6bu;
        struct range **link = &set->root;
        while (*link && (*link)->priority >= range->priority)
                link = range->start < (*link)->start ? &(*link)->left : &(*link)->right;
        split_tree(*link, range->start, &range->left, &range->right);
        *link = range;
        return true;
}

void range_remove(struct range_set *set, struct range *range)
{
        struct range **link = &set->root;
        struct range *left = range->left, *right = range->right;

        while (*link && *link != range)
                link = range->start < (*link)->start ? &(*link)->left : &(*link)->right;
        if (!*link)
                return;
        while (left && right) {
                if (left->priority >= right->priority) {
                        *link = left;
                        link = &left->right;
                        left = left->right;
                } else {
                        *link = right;
                        link = &right->left;
                        right = right->left;
                }
        }
        *link = left ? left : right;
}
