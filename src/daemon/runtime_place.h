/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks whether the runtime folder is still the one that this daemon serves.
 *
 *      runtime_place_note("/run/aliquot", &place, &err)   // once it has its folder `sessions`
 *      runtime_place_look(&place, &err)                   // once a second
 *
 * If the folder is deleted, moved away or replaced, running programs still have its files open, but
 * nobody else can find these files: no program can join, usage is not counted, and another daemon
 * can begin in a new folder at this path. This cannot be repaired while the programs run, so it is
 * only reported to the caller.
 */
#ifndef ALIQUOT_DAEMON_RUNTIME_PLACE_H
#define ALIQUOT_DAEMON_RUNTIME_PLACE_H

#include "store/store.h"

/* The folder and its `sessions`. Both are kept open until the process ends, so that their inodes
 * are not reused. */
struct runtime_place {
        struct {
                char path[STORE_PATH_BYTES];
                int fd;
        } folder[2];
};

int runtime_place_note(const char *folder, struct runtime_place *ret, struct error *err);

/* -ESTALE: a folder is gone or was replaced. 0: both are unchanged, or that is unknown. */
int runtime_place_look(const struct runtime_place *place, struct error *err);

#endif
