/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Imports: memory that several processes hold, charged once in a session.
 *
 * Shared memory has a *name* that is the same in every process: the 64 bytes of a legacy IPC or
 * fabric handle or of an exported pool pointer, or the inode of a descriptor. The process that is
 * charged for it holds a kernel lock on the name's byte of `slots` (far behind the slots' own
 * bytes). The kernel drops the lock whatever way that process ends, so no table is needed:
 *
 *      export       the owner, charged as usual, takes the lock if it is free
 *      import       the lock is free: take it and be charged in full; taken: another process of the
 *                   session is charged already, hold the memory uncharged
 *      later        an uncharged holder tries the lock again, at looks and before each grant
 *                   (import_claim), and is charged once the first process is gone
 *      free         by the charged process, while others hold it: stays charged (orphan.h)
 *
 * Memory without a name (a descriptor of the NVIDIA driver: all have the inode of its device file)
 * is charged in every process that imports it. Several references in one process count as one.
 *
 * The driver reports the size of a legacy handle. It does not report the size of a descriptor or a
 * fabric handle: the program *states* it, when it imports external memory, or by the extent of its
 * mappings. So such an import is charged the greatest size that was stated in this process. Another
 * process takes its charge over only if it is charged for the same size, because the lock is on
 * name and size. A process that states less than the exporter is charged in addition: too much,
 * never too little.
 */
#ifndef ALIQUOT_SHIM_CUDA_CHARGE_IMPORT_H
#define ALIQUOT_SHIM_CUDA_CHARGE_IMPORT_H

#include "shim/cuda/place/front.h"

/* 0 = it has no name. Of a fabric handle and of a descriptor the size is stated. */
uint64_t import_name_bytes(const void *handle, size_t bytes);
uint64_t import_name_fabric(const void *handle, size_t bytes);
uint64_t import_name_fd(int fd);

/* Size of what this process itself exported under a name; 0: it exported nothing, so the size is
 * unknown. */
uint64_t import_bytes_known(uint64_t name);

struct memory_import;

/*
 * One more reference to a named (or nameless: 0) thing of `bytes` on a place. On success it is
 * held, charged or not, until import_end(*ret). OUT_OF_MEMORY and the like as reserve_at().
 */
CUresult import_begin(struct memory_import **ret, uint64_t name, struct place place,
                      uint64_t bytes);
void import_end(struct memory_import *import);

/* Call before the driver is asked for memory of this name. Until import_end() another process that
 * frees the memory knows that it is held, so it is never without a charge. NULL without a session,
 * or without memory. */
struct memory_import *import_announce(uint64_t name);

/*
 * Raises the charge of an import to `bytes`, if it is smaller. The caller then calls the driver,
 * and settles with its result: after a failure the charge is as before. Until then other threads
 * that would raise the same import wait.
 */
struct import_growth {
        struct memory_import *import; /* NULL: nothing grows */
        struct charge more;
        void *charge_lock; /* that it will have, or NULL */
        uint64_t bytes;
        bool was_waiting;
        /* here; else another process of the session is charged for this many bytes */
        bool is_charged;
};
CUresult import_grow(struct import_growth *ret, struct memory_import *import, struct place place,
                     uint64_t bytes);
CUresult import_settle(struct import_growth *growth, CUresult rc);

/* Finds the import by the address or handle the driver gave for it. */
void import_keep(struct memory_import *import, enum charge_space space, uint64_t key);
struct memory_import *import_take(enum charge_space space, uint64_t key);
struct memory_import *import_find(enum charge_space space, uint64_t key);

/* The program made its own memory shareable under this name; `key` is the address or number that
 * its charge is kept under, for import_unexport() when it ends. */
void import_export(uint64_t name, enum charge_space space, uint64_t key);

/* The program gave that memory back. Moves `charge` to an import of the same memory, if this
 * process or another of the session has one. The caller drops what remains in it. */
void import_unexport(enum charge_space space, uint64_t key, struct charge *charge);

/* A context was destroyed, with everything that it exported: call before charge_drop_owner(). */
void import_owner_gone(uint32_t owner);

/* Uncharged holders on this row become charged if their charger is gone. */
void import_claim(int row);

#endif
