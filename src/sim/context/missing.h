/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the generated driver function does if the simulator has no model for it.
 */
#ifndef ALIQUOT_SIM_CONTEXT_MISSING_H
#define ALIQUOT_SIM_CONTEXT_MISSING_H

/* Reports once that the function is not modelled, and returns NOT_SUPPORTED. */
int missing_call(const char *function, _Atomic int *is_said);

#endif
