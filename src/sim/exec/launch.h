/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks a kernel launch and translates its arguments into an op_launch.
 */
#ifndef ALIQUOT_SIM_EXEC_LAUNCH_H
#define ALIQUOT_SIM_EXEC_LAUNCH_H

#include "sim/exec/op.h"
#include "sim/module/module.h"

/* Kernel parameters in the two forms that the driver accepts: an array of pointers, or `extra` with
 * one packed buffer. */
struct launch_params {
        void **kernel;
        void **extra;
};

/* Checks the function and the launch's dimensions against the device's limits. */
CUresult launch_check(CUfunction function, const struct op_launch *shape);

/* Fills `to` from the shape and the parameters. The caller has allocated function->param_bytes
 * behind `to` for the parameters. */
CUresult launch_fill(struct op_launch *to, const struct op_launch *shape,
                     const struct launch_params *params);

#endif
