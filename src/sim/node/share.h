/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that several processes hold: exported VMM handles, legacy IPC, external memory.
 *
 * An object is a range of a backing file, named STATE_DIR/object-ID while the object exists, with a
 * list of its holders (processes). Its bytes are counted once for the device, and once for each
 * session tag that has a holder. One holder of the tag carries them: they are in its column. When
 * it closes the object, another holder of the same tag carries them. An exported descriptor keeps
 * the object alive while it is open in any process; without holders, the object then counts for the
 * device but for no tag.
 */
#ifndef ALIQUOT_SIM_NODE_SHARE_H
#define ALIQUOT_SIM_NODE_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/node/node.h"

/* Creates an object from memory for which this process was granted `counted_bytes` as `family`. The
 * process is the object's first holder. Returns the id; 0 on failure. */
struct share_plan {
        unsigned device;
        enum family family;
        uint64_t counted_bytes;
        uint64_t length;
        /* the backing file, in which the memory is at `offset`; -1: it has no file (a pool) */
        int fd;
        uint64_t offset;
};
uint64_t share_make(const struct share_plan *plan);

struct share_view {
        uint64_t id;
        uint64_t length;
        uint64_t offset;
        unsigned device;
        int fd; /* the object's file, which the caller closes; -1 if it has no file */
};

enum share_result { SHARE_OK, SHARE_GONE, SHARE_FULL, SHARE_OWN };

/* Adds a reference of this process to the object. SHARE_OWN: `is_foreign_only` is set, and this
 * process made the object. */
enum share_result share_open(uint64_t id, bool is_foreign_only, struct share_view *ret);

/* Releases one reference. Returns true if that ended the object. */
bool share_close(uint64_t id);

/* Returns whether the object still exists. While it does, its maker must not reuse the memory. */
bool share_exists(uint64_t id);

/* Returns a descriptor that represents the object in any process that shares the state folder; -1
 * on failure. */
int share_descriptor(uint64_t id);

/* Returns the object of a descriptor; 0 if the descriptor represents none. */
uint64_t share_of_descriptor(int fd);

/* Drops dead holders, and objects that have no holder left. The caller holds node.lock, but no
 * device's lock. */
void share_settle(struct sim_node *node);

#endif
