/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The internal interface between the files of this folder.
 */
#ifndef ALIQUOT_SIM_MODULE_MODULE_INTERNAL_H
#define ALIQUOT_SIM_MODULE_MODULE_INTERNAL_H

#include "sim/module/module.h"

#include <pthread.h>

/* Guards the globals of modules and the modules of libraries. Never held during a wait. */
extern pthread_mutex_t module_lock;

/* Counts what a module takes of its device (room.c). On OUT_OF_MEMORY nothing is counted, but the
 * caller must call module_room_end() in that case too. */
CUresult module_room_take(CUmodule module, const struct image *image);
void module_room_end(CUmodule module);

/* Returns whether modules are loaded eagerly: as CUDA_MODULE_LOADING says, or as is the default of
 * the driver's version. */
bool module_is_eager(void);

/* Removes a global from the address table and frees its record. */
void module_global_forget(CUmodule module, struct module_global *global);

/* Add a global to the address table as device memory, and remove it. */
CUresult module_range_add(CUcontext context, CUdeviceptr address, uint64_t bytes);
void module_range_remove(CUdeviceptr address);

#endif
