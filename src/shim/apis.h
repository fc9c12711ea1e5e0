/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The constants that describe each front end to the interposer.
 */
#ifndef ALIQUOT_SHIM_APIS_H
#define ALIQUOT_SHIM_APIS_H

#include "interpose/api.h"

extern const struct api cuda_api;
extern const struct api nvml_api;

#endif
