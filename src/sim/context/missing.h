/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the generated entry point of a function without a model does.
 */
#ifndef ALIQUOT_SIM_CONTEXT_MISSING_H
#define ALIQUOT_SIM_CONTEXT_MISSING_H

/* Says once which function is not modelled and answers NOT_SUPPORTED. */
int missing_call(const char *function, _Atomic int *is_said);

#endif
