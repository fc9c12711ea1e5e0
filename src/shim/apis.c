/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The APIs we stand before. A further one costs its own folder, a line here, and its table in
 * meson.build.
 */
#include "shim/apis.h"

const struct api *const api_list[] = { &cuda_api, &nvml_api, NULL };
