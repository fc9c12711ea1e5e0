/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that several processes hold, charged once a session.
 *
 * A shared thing has a *name* that is the same in every process: the 64 bytes of a legacy IPC or
 * fabric handle or an exported pool pointer, or the inode behind a descriptor. Whoever of the
 * session is charged for it holds the kernel's lock on the name's byte of `slots` (far behind the
 * slots' own bytes), so it is let go whatever way that process ends, and needs no table:
 *
 *      export       the owner, charged as usual, takes the lock if nobody has it
 *      import       the lock is free: take it and be charged in full; busy: somebody of the
 *                   session is charged already, hold it uncharged
 *      later        an uncharged holder tries the lock again, at looks and before it is granted
 *                   anything (import_claim), and is charged once the first one is gone
 *      given back   by who is charged, while others hold it: stays charged (orphan.h)
 *
 * What has no name (a descriptor of the NVIDIA driver: all have the inode of its device file) is
 * charged in every process that imports it. Several references in one process count as one.
 *
 * A legacy handle's size is told by the driver. Of a descriptor or a fabric handle nobody tells it:
 * the program *states* it, when it imports external memory, or by how far its mappings reach. So
 * such an import is charged the greatest size that was stated of it in this process, and another
 * process takes its charge over only where it is charged for the same size: its lock is on the name
 * and the size. Who states less than the exporter is charged that besides: too much, never too
 * little.
 */
#ifndef ALIQUOT_SHIM_CUDA_CHARGE_IMPORT_H
#define ALIQUOT_SHIM_CUDA_CHARGE_IMPORT_H

#include "shim/cuda/place/front.h"

/* 0 = it has no name. Of a fabric handle and of a descriptor the size is stated. */
uint64_t import_name_bytes(const void *handle, size_t bytes);
uint64_t import_name_fabric(const void *handle, size_t bytes);
uint64_t import_name_fd(int fd);

/* Bytes of what this process itself exported under a name; 0 = it did not: nobody tells. */
uint64_t import_bytes_known(uint64_t name);

struct memory_import;

/*
 * One more reference to a named (or nameless: 0) thing of `bytes` on a place. On success it is
 * held, charged or not, until import_end(*ret). OUT_OF_MEMORY and the like as reserve_at().
 */
CUresult import_begin(struct memory_import **ret, uint64_t name, struct place place,
                      uint64_t bytes);
void import_end(struct memory_import *import);

/* Before the driver is asked for something of this name: from here to import_end() whoever gives it
 * back knows that it is held, so that it is not without a charge for a moment. NULL without a
 * session, or memory. */
struct memory_import *import_announce(uint64_t name);

/*
 * The charge of an import that somebody holds grows to `bytes`, if it is not as large already. The
 * caller then asks the driver, and settles with its answer: where it refused, the charge is again
 * what it was. Until then other threads that would have the same import grow wait.
 */
struct import_growth {
        struct memory_import *import; /* NULL: nothing grows */
        struct charge more;
        void *charge_lock; /* that it will have, or NULL */
        uint64_t bytes;
        bool was_waiting;
        bool is_charged; /* here; else somebody of the session is, for so many bytes */
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

/* A context was destroyed, and what it exported with it: before charge_drop_owner(). */
void import_owner_gone(uint32_t owner);

/* Uncharged holders on this row become charged if their charger is gone. */
void import_claim(int row);

#endif
