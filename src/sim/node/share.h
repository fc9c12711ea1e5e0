/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that several processes hold: exported VMM handles, legacy IPC, external memory.
 *
 * An object is a stretch of a backing file, named STATE_DIR/object-ID while it exists, with its
 * holders. Its bytes are counted once for the device, and once for each session tag with a holder:
 * one holder of the tag carries them in its column, and when it closes the object, another of the
 * same tag takes over. An exported descriptor keeps the object while it is open anywhere, counted
 * for the device but for no tag.
 */
#ifndef ALIQUOT_SIM_NODE_SHARE_H
#define ALIQUOT_SIM_NODE_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/node/node.h"

/* Makes an object of memory for which this process was granted `counted_bytes` as `family`. The
 * process is its first holder. 0 on failure. */
struct share_plan {
        unsigned device;
        enum family family;
        uint64_t counted_bytes;
        uint64_t length;
        int fd; /* its file, at `offset`; -1: it has no file (a pool) */
        uint64_t offset;
};
uint64_t share_make(const struct share_plan *plan);

struct share_view {
        uint64_t id;
        uint64_t length;
        uint64_t offset;
        unsigned device;
        int fd; /* the caller closes it; -1 if there is no file */
};

enum share_result { SHARE_OK, SHARE_GONE, SHARE_FULL, SHARE_OWN };

/* Adds a hold for this process. With `is_foreign_only`, the maker is refused (OWN). */
enum share_result share_open(uint64_t id, bool is_foreign_only, struct share_view *ret);

/* Releases one hold. True if the object is gone with it. */
bool share_close(uint64_t id);

/* Whether the object still exists; then its maker must not reuse the memory. */
bool share_exists(uint64_t id);

/* A descriptor that stands for the object in any process that shares the state folder; or -1. */
int share_descriptor(uint64_t id);

/* The object of a descriptor; 0 if it is none of ours. */
uint64_t share_of_descriptor(int fd);

/* Drops dead holders, and objects without any. node.lock is held, no device's. */
void share_settle(struct sim_node *node);

#endif
