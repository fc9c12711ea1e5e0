/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the files of this installation relative to the running program. The program is either in an
 * installed tree or in a build folder.
 */
#ifndef ALIQUOT_MACHINE_INSTALLATION_H
#define ALIQUOT_MACHINE_INSTALLATION_H

#include <limits.h>
#include <stdbool.h>

#include "common/error.h"

#define INSTALLATION_SIM_FOLDERS 3u

/* Absolute paths. */
struct installation {
        char program[PATH_MAX];  /* the running program */
        char library[PATH_MAX];  /* libaliquot.so */
        char sim_cuda[PATH_MAX]; /* the simulator's libcuda.so.1 */
        char sim_nvml[PATH_MAX]; /* the simulator's libnvidia-ml.so.1 */
        /* The folders with the simulator's two libraries and with the stand-in CUDA runtimes, for
         * the loader's search path; "" after the last one. */
        char sim_folder[INSTALLATION_SIM_FOLDERS][PATH_MAX];
        char daemon[PATH_MAX]; /* aliquotd */
        char load[PATH_MAX];   /* aliquot-load */
        char plot[PATH_MAX];   /* aliquot-plot */
};

/* Finds all files. -ENOENT: libaliquot.so is missing; the message has the expected paths. Any other
 * file that is missing gets the path "". */
int installation_find(struct installation *ret, struct error *err);

#endif
