/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The internal interface between the files of this folder. Each file has one family of driver
 * calls.
 */
#ifndef ALIQUOT_SIM_MEMORY_FAMILIES_H
#define ALIQUOT_SIM_MEMORY_FAMILIES_H

#include "sim/memory/arena.h"
#include "sim/memory/memory.h"
#include "sim/node/node.h"

/* In memory.c: allocate and free a block of the arena with its grant. memory_end() waits for the
 * device; false if no such block begins at the address. */
CUresult memory_make(CUcontext context, enum memory_kind kind, uint64_t bytes, unsigned flags,
                     CUdeviceptr *ret);
bool memory_end(CUdeviceptr address, enum memory_kind kind);

/* Frees a block that the program freed before (block_give_up()). */
void memory_end_given_up(CUdeviceptr address, enum memory_kind kind);

/* Marks a block as freed by the program, which can happen only once. The block exists until the
 * caller ends it. */
bool block_give_up(CUdeviceptr address, enum memory_kind kind, struct arena_block *ret);

/* In array.c, host.c and ipc.c: end the objects that belong to a context. */
void arrays_context_close(CUcontext context);
void host_context_close(CUcontext context);
void imports_context_close(CUcontext context);

/* In narrow.c: memory of the 32-bit interface. False if no such block begins at the address. */
bool narrow_free(CUdeviceptr address);
void narrow_context_close(CUcontext context);

/* Internal flags of a block, in bits that the driver's flags do not use. */
#define BLOCK_EXPORTED (1u << 31)
#define BLOCK_SYNC_MEMOPS (1u << 30)
#define BLOCK_RESIDENT (1u << 28) /* managed memory that counts for the device */
/* freed by the program, but still used by work that was queued before */
#define BLOCK_FREEING (1u << 29)

/* In ipc.c. ipc_export_take() removes and returns the object (share.h) of an exported block; 0 if
 * it has none. import_free() closes a pointer of an imported pool, for cuMemFree.
 * external_is_buffer() returns whether the address is in a buffer of external memory, which
 * cuMemFree leaves alone. */
uint64_t ipc_export_take(CUdeviceptr address);
bool import_free(CUdeviceptr address);
bool external_is_buffer(CUdeviceptr address);

/* In pool.c. */
bool pool_allows(CUmemoryPool pool, CUdevice device, unsigned access);
CUresult pool_free(CUdeviceptr address);

#endif
