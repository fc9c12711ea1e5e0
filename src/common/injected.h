/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that a container gets besides its image, at fixed paths, put there before it starts.
 *
 *      /run/aliquot/self/socket        of the container's share: its programs join that share
 *      /run/aliquot/driver/NAME.real   the real driver's library NAME, while our facade has its
 *                                      usual place. No loader looks for this name, so adding the
 *                                      folder to LD_LIBRARY_PATH has no effect
 *      /run/aliquot/driver/simulator   describes the simulated GPU, in the syntax of ALIQUOT_SIM
 *
 * Each overrides the ALIQUOT_ variable of the same meaning, so a program that clears or changes its
 * environment changes nothing. A container with `self` is in that share or gets no GPU, even if the
 * socket is missing or cannot be reached.
 *
 * A file counts if root owns the folder above it and no other user can write it. On a machine only
 * root can make such a folder in /run. In a container its runtime makes it, as the container's
 * root; for a program in a user namespace that does not map that root, the owner is the kernel's
 * overflow uid, which no user of the namespace has. Root in a container can replace the file, as it
 * can any file of its image. Any thread; errno is not kept.
 */
#ifndef ALIQUOT_COMMON_INJECTED_H
#define ALIQUOT_COMMON_INJECTED_H

#include <stdbool.h>
#include <sys/stat.h>

#define INJECTED_FOLDER "/run/aliquot"
#define INJECTED_SELF INJECTED_FOLDER "/self"
#define INJECTED_SOCKET INJECTED_SELF "/socket"
#define INJECTED_DRIVER INJECTED_FOLDER "/driver"
#define INJECTED_REAL ".real"
#define INJECTED_SIMULATOR INJECTED_DRIVER "/simulator"

#define INJECTED_STRANGER 65534u /* /proc/sys/kernel/overflowuid, on every system */

/* Whether the container was given the file or folder at one of these paths. */
static inline bool injected_has(const char *path)
{
        struct stat folder, file;

        return stat(path, &file) == 0 && stat(INJECTED_FOLDER, &folder) == 0 &&
               (folder.st_uid == 0 || folder.st_uid == INJECTED_STRANGER) &&
               !(folder.st_mode & (S_IWGRP | S_IWOTH));
}

#endif
