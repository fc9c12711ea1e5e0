/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The internal interface between the files of this folder.
 */
#ifndef ALIQUOT_SIM_MODULE_MODULE_INTERNAL_H
#define ALIQUOT_SIM_MODULE_MODULE_INTERNAL_H

#include "sim/module/module.h"

#include <pthread.h>

/* Guards the globals of modules and the modules of libraries. Never held while waiting. */
extern pthread_mutex_t module_lock;

/* Counts what a module takes of its device (room.c): all of it, or nothing and OUT_OF_MEMORY; then
 * call module_room_end() too. */
CUresult module_room_take(CUmodule module, const struct image *image);
void module_room_end(CUmodule module);

/* By CUDA_MODULE_LOADING, or by the default of the driver's version. */
bool module_is_eager(void);

/* Removes a global from the address table and frees its record. */
void module_global_forget(CUmodule module, struct module_global *global);

/* Makes a global's address known as device memory, and unknown again. */
CUresult module_range_add(CUcontext context, CUdeviceptr address, uint64_t bytes);
void module_range_remove(CUdeviceptr address);

#endif
