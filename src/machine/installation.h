/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds our own files relative to the running program, in the installed tree or in the build
 * folder.
 */
#ifndef ALIQUOT_MACHINE_INSTALLATION_H
#define ALIQUOT_MACHINE_INSTALLATION_H

#include <limits.h>
#include <stdbool.h>

#include "common/error.h"

#define INSTALLATION_SIM_FOLDERS 3u

struct installation {
        char program[PATH_MAX]; /* the running program */
        char library[PATH_MAX]; /* libaliquot.so */
        char sim_cuda[PATH_MAX];
        char sim_nvml[PATH_MAX];
        /* The folders of these two and of the stand-in CUDA runtimes, for the loader's search; ""
         * after the last one. */
        char sim_folder[INSTALLATION_SIM_FOLDERS][PATH_MAX];
        char daemon[PATH_MAX]; /* aliquotd */
        char load[PATH_MAX];   /* aliquot-load */
        char plot[PATH_MAX];   /* aliquot-plot */
};

/* -ENOENT names the missing one of command and library, and the expected path. The others are "" if
 * they are not installed. */
int installation_find(struct installation *ret, struct error *err);

#endif
