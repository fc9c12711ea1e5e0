/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are mounted into a container at fixed paths before it starts, and tell our library
 * which session and driver to use.
 *
 *      /run/aliquot/self/socket        socket of the container's share, which its programs join
 *      /run/aliquot/driver/NAME.real   the real driver's library NAME, if our facade replaces the
 *                                      library at its usual path. No loader looks for this name, so
 *                                      adding the folder to LD_LIBRARY_PATH has no effect
 *      /run/aliquot/driver/simulator   describes the simulated GPU, in the syntax of ALIQUOT_SIM
 *
 * Each file overrides the ALIQUOT_ variable for the same thing, so a program that clears or changes
 * its environment changes nothing. A container with the folder `self` is in that share or gets no
 * GPU, even if the socket is missing or cannot be reached.
 *
 * A file counts if root owns the folder above it and no other user can write that folder. On a
 * machine only root can make such a folder in /run. In a container its runtime makes the folder, as
 * the container's root. In a user namespace that does not map that root, the owner appears as the
 * kernel's overflow uid, which no user of the namespace has. Root in a container can replace the
 * file, as any file of its image. Any thread; errno is not kept.
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

/* the overflow uid (/proc/sys/kernel/overflowuid), 65534 by default */
#define INJECTED_STRANGER 65534u

/* Whether the container was given the file or folder `path`, one of those above. */
static inline bool injected_has(const char *path)
{
        struct stat folder, file;

        return stat(path, &file) == 0 && stat(INJECTED_FOLDER, &folder) == 0 &&
               (folder.st_uid == 0 || folder.st_uid == INJECTED_STRANGER) &&
               !(folder.st_mode & (S_IWGRP | S_IWOTH));
}

#endif
