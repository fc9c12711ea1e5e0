/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translates the arguments of a launch into an op_launch.
 */
#ifndef ALIQUOT_SIM_EXEC_LAUNCH_H
#define ALIQUOT_SIM_EXEC_LAUNCH_H

#include "sim/exec/op.h"
#include "sim/module/module.h"

/* Parameters as the driver takes them: an array of pointers, or `extra` with one packed buffer. */
struct launch_params {
        void **kernel;
        void **extra;
};

/* Shape and function, checked against the device's limits. */
CUresult launch_check(CUfunction function, const struct op_launch *shape);

/* Fills `to` (room for function->param_bytes behind it) from shape and parameters. */
CUresult launch_fill(struct op_launch *to, const struct op_launch *shape,
                     const struct launch_params *params);

#endif
