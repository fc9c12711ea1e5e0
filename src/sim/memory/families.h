/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The internal interface between the files of the memory side, one file for each family of calls.
 */
#ifndef ALIQUOT_SIM_MEMORY_FAMILIES_H
#define ALIQUOT_SIM_MEMORY_FAMILIES_H

#include "sim/memory/arena.h"
#include "sim/memory/memory.h"
#include "sim/node/node.h"

/* memory.c: makes and ends a block of the arena with its grant. memory_end() waits for the device;
 * false if no such block begins there. */
CUresult memory_make(CUcontext context, enum memory_kind kind, uint64_t bytes, unsigned flags,
                     CUdeviceptr *ret);
bool memory_end(CUdeviceptr address, enum memory_kind kind);

/* The end of a block that the program gave up before. */
void memory_end_given_up(CUdeviceptr address, enum memory_kind kind);

/* Marks a block as given up by the program, once; it stays known until the caller ends it. */
bool block_give_up(CUdeviceptr address, enum memory_kind kind, struct arena_block *ret);

/* array.c, host.c, ipc.c: end what belongs to a context. */
void arrays_context_close(CUcontext context);
void host_context_close(CUcontext context);
void imports_context_close(CUcontext context);

/* narrow.c: memory of the 32-bit interface; false if no such block begins there. */
bool narrow_free(CUdeviceptr address);
void narrow_context_close(CUcontext context);

/* Flags of a block, above those of the interface. */
#define BLOCK_EXPORTED (1u << 31)
#define BLOCK_SYNC_MEMOPS (1u << 30)
#define BLOCK_RESIDENT (1u << 28) /* managed, and counted for the device */
#define BLOCK_FREEING (1u << 29)  /* given up, but still there for the work before its end */

/* ipc.c: takes the object of an exported block away from it; 0 if it has none. Then: memory that
 * cuMemFree may be given: pointers of an imported pool are closed, external buffers stay. */
uint64_t ipc_export_take(CUdeviceptr address);
bool import_free(CUdeviceptr address);
bool external_is_buffer(CUdeviceptr address);

/* pool.c */
bool pool_allows(CUmemoryPool pool, CUdevice device, unsigned access);
CUresult pool_free(CUdeviceptr address);

#endif
