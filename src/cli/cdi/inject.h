/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans the mounts that a container gets in addition to the socket of its share, so that its
 * programs are limited.
 *
 *      inject_plan(&about, &plan, &err)
 *
 * With facades: Aliquot's libraries are mounted at every path where the loader finds the driver,
 * and the real driver in /run/aliquot/driver, where the facades look for it (common/injected.h).
 * Programs need no variable. With preload: libaliquot.so is in the container's /etc/ld.so.preload,
 * which also works for programs that bring their own driver; the real driver stays at its path.
 *
 * The real driver's files and devices are injected by NVIDIA's CDI device
 * (nvidia-container-toolkit). For a simulated GPU, Aliquot mounts the simulated driver, its
 * configuration and its state folder, through which all containers and the machine share one card.
 *
 * Aliquot's own files are mounted from a folder that never changes (kept.h).
 */
#ifndef ALIQUOT_CLI_CDI_INJECT_H
#define ALIQUOT_CLI_CDI_INJECT_H

#include <limits.h>
#include <stdbool.h>

#include "cli/request.h"
#include "common/error.h"

#define INJECT_MOUNTS 24u

struct inject_mount {
        char from[PATH_MAX]; /* path on this machine */
        char to[PATH_MAX];   /* path in the container */
        const char *options; /* separated by commas */
};

struct injection {
        unsigned count;
        struct inject_mount mount[INJECT_MOUNTS];
};

/* Options for mounts of data, of libraries, and of the simulator's state folder. */
#define INJECT_DATA "ro,nosuid,nodev,noexec,bind"
#define INJECT_CODE "ro,nosuid,nodev,bind"
#define INJECT_STATE "rw,nosuid,nodev,noexec,bind"

struct inject_about {
        const struct cli_request *request; /* request_open_driver() has been called for it */
        const char *libraries;             /* folder that contains the kept folders */
        bool is_preload;
};

/* Makes the list of mounts, and creates the folder of libraries if it does not exist. */
int inject_plan(const struct inject_about *about, struct injection *ret, struct error *err);

#endif
