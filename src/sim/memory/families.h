/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the files of the memory side: one file a family, and what they need of each other.
 */
#ifndef ALIQUOT_SIM_MEMORY_FAMILIES_H
#define ALIQUOT_SIM_MEMORY_FAMILIES_H

#include "sim/memory/arena.h"
#include "sim/memory/memory.h"
#include "sim/node/node.h"

/* memory.c: a block of the arena with its grant, and its end. memory_end() waits for the device;
 * false when no such block begins there. */
CUresult memory_make(CUcontext context, enum memory_kind kind, uint64_t bytes, unsigned flags,
                     CUdeviceptr *ret);
bool memory_end(CUdeviceptr address, enum memory_kind kind);

/* The end of a block that the program gave up before. */
void memory_end_given_up(CUdeviceptr address, enum memory_kind kind);

/* The program gives a block up, once; it stays known until the taker ends it. */
bool block_give_up(CUdeviceptr address, enum memory_kind kind, struct arena_block *ret);

/* array.c, host.c, ipc.c: what belongs to a context goes with it. */
void arrays_context_close(CUcontext context);
void host_context_close(CUcontext context);
void imports_context_close(CUcontext context);

/* narrow.c: memory of the interface of 32 bits; false when no such block begins there. */
bool narrow_free(CUdeviceptr address);
void narrow_context_close(CUcontext context);

/* Flags of a block, above those of the interface. */
#define BLOCK_EXPORTED (1u << 31)
#define BLOCK_SYNC_MEMOPS (1u << 30)
#define BLOCK_RESIDENT (1u << 28) /* managed, and counted for the device */
#define BLOCK_FREEING (1u << 29)  /* still there for the work before its end, but given up */

/* ipc.c: the object of an exported block, which then has none; 0 when it had none. And memory that
 * cuMemFree may be given: pointers of an imported pool are closed, external buffers stay. */
uint64_t ipc_export_take(CUdeviceptr address);
bool import_free(CUdeviceptr address);
bool external_is_buffer(CUdeviceptr address);

/* pool.c */
bool pool_allows(CUmemoryPool pool, CUdevice device, unsigned access);
CUresult pool_free(CUdeviceptr address);

#endif
