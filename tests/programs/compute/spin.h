/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's own kernel that takes as long as it is told (`uint64_t ns`), from a module of its
 * own each time, so that two of them are two kernels. A failed call ends the program.
 */
#pragma once

#include <stdint.h>

#include "abi/cuda.h"

/* In the current context. */
CUfunction spin_find(void);

/* One block of it. */
void spin_launch(CUfunction spin, CUstream stream, uint64_t ns);

/* For a program that does nothing else: the first device, by whose time everything goes then. */
struct spinner {
        CUfunction spin;
        CUstream stream;
};

struct spinner spinner_begin(void);
