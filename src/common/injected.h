/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a container is given besides its image: files at fixed paths, put there before it starts.
 *
 *      /run/aliquot/self/socket        of the share that the container has: its programs join it
 *      /run/aliquot/driver/NAME.real   the real driver's library NAME, with a facade of ours in
 *                                      its usual place. No loader looks for this name, so the
 *                                      folder in LD_LIBRARY_PATH leads nowhere
 *      /run/aliquot/driver/simulator   what the simulated GPU is like, in the words of ALIQUOT_SIM
 *
 * Each beats the variable of ours that says the same, so a program that clears its environment, or
 * sets other ones, changes nothing. Who has `self` is in that share or gets no GPU, also where the
 * socket cannot be reached, or is not there.
 *
 * A file counts if the folder above it is root's and nobody else can write it. On a machine only
 * root makes such a folder in /run. In a container its runtime does, as the container's root; a
 * program in a user namespace that has no number for that root sees the kernel's number for
 * strangers as the owner, which no user of the namespace's has. Root in a container can put another
 * file there, as it can replace any file of its image. Any thread; errno is not kept.
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
