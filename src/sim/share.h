/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that several processes hold: exported VMM handles, legacy IPC, external memory.
 *
 * An object is a stretch of a backing file, named STATE_DIR/object-ID while it exists, and who
 * holds it. Its bytes are counted once for the device, and once for each session tag of which
 * a process holds it: one holder of the tag carries them in its column, and when that one lets go
 * another of the same tag takes over.
 */
#ifndef ALIQUOT_SIM_SHARE_H
#define ALIQUOT_SIM_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/node.h"

/* Drops dead holders, and objects without any. node.lock is held, no device's. */
void share_settle(struct node *node);

#endif
