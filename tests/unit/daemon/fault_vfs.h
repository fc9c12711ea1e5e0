/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQLite's files on a disk that fails when a story says so.
 *
 * Once installed, every change of a file (a write, a truncation, a sync, a deletion, the making of
 * a new one) is counted, and the N-th of them, or all from the N-th on, meet what was armed. Dying
 * is _exit(): what was written stays, as after kill -9. A power cut also takes back what was
 * written since the last sync of that file, all of it or every other write.
 */
#ifndef TESTS_UNIT_DAEMON_FAULT_VFS_H
#define TESTS_UNIT_DAEMON_FAULT_VFS_H

#define FAULT_STATUS 99 /* exit status of who died here */

enum fault {
        FAULT_NONE,
        FAULT_DIE,      /* just before the change */
        FAULT_TEAR,     /* after half of it, if it is a write */
        FAULT_CUT,      /* the power, before the change; nothing unsynced is left */
        FAULT_CUT_SOME, /* the same; every other unsynced write is left */
        FAULT_FULL,     /* from there on no write finds room */
        FAULT_SYNC,     /* that sync fails */
        FAULT_KINDS,
};

void fault_install(void);
void fault_arm(enum fault fault, unsigned at); /* counts from 1; starts the count anew */
unsigned fault_count(void);                    /* changes since */

#endif
