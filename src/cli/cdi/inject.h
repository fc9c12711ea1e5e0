/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a container gets besides its share's door, so that its programs are limited.
 *
 *      inject_plan(&about, &plan, &err)
 *
 * By facades: files of ours at every path where the loader finds the driver, and the real driver
 * in /run/aliquot/driver, where they look for it (common/injected.h). Programs need no variable.
 * By preload: libaliquot.so in /etc/ld.so.preload of the container, which reaches programs that
 * bring a driver of their own; the driver stays where it is.
 *
 * The real driver's own files and devices are NVIDIA's to inject, by the CDI device of
 * nvidia-container-toolkit. A simulated GPU comes with us: its driver, its words, and its state
 * folder, in which all containers and the machine share one card.
 *
 * What is ours is mounted from a folder that never changes (kept.h).
 */
#ifndef ALIQUOT_CLI_CDI_INJECT_H
#define ALIQUOT_CLI_CDI_INJECT_H

#include <limits.h>
#include <stdbool.h>

#include "cli/request.h"
#include "common/error.h"

#define INJECT_MOUNTS 24u

struct inject_mount {
        char from[PATH_MAX]; /* here */
        char to[PATH_MAX];   /* in the container */
        const char *options; /* with commas between */
};

struct injection {
        unsigned count;
        struct inject_mount mount[INJECT_MOUNTS];
};

/* Mounts of data, and of libraries. */
#define INJECT_DATA "ro,nosuid,nodev,noexec,bind"
#define INJECT_CODE "ro,nosuid,nodev,bind"
#define INJECT_STATE "rw,nosuid,nodev,noexec,bind"

struct inject_about {
        const struct cli_request *request; /* with its driver open */
        const char *libraries;             /* where kept folders lie */
        bool is_preload;
};

/* Makes the folder of libraries if it is not there. */
int inject_plan(const struct inject_about *about, struct injection *ret, struct error *err);

#endif
