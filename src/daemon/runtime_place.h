/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks whether the runtime folder is still the one that this daemon serves.
 *
 *      runtime_place_note("/run/aliquot", &place, &err)        // it holds `sessions` already
 *      runtime_place_look(&place, &err)                        // now and then
 *
 * If the folder is deleted, moved away or replaced, programs still have their files open, but
 * others do not find them: no program can join, usage is not counted, and another daemon can begin
 * there. This cannot be repaired while the programs run, so it is only reported.
 */
#ifndef ALIQUOT_DAEMON_RUNTIME_PLACE_H
#define ALIQUOT_DAEMON_RUNTIME_PLACE_H

#include "store/store.h"

/* The folder and its `sessions`, held open to the end of the process: their inodes are nobody
 * else's meanwhile. */
struct runtime_place {
        struct {
                char path[STORE_PATH_BYTES];
                int fd;
        } folder[2];
};

int runtime_place_note(const char *folder, struct runtime_place *ret, struct error *err);

/* -ESTALE: no longer. Where that cannot be told, it is still. */
int runtime_place_look(const struct runtime_place *place, struct error *err);

#endif
