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
 */
#ifndef ALIQUOT_SHIM_CUDA_IMPORT_H
#define ALIQUOT_SHIM_CUDA_IMPORT_H

#include "shim/cuda/front.h"

/* 0 = it has no name. */
uint64_t import_name_bytes(const void *handle, size_t bytes);
uint64_t import_name_fd(int fd);

/* Bytes of what this process itself exported under a name; 0 = it did not: nobody tells. */
uint64_t import_bytes_known(uint64_t name);

struct node;

/*
 * One more reference to a named (or nameless: 0) thing of `bytes` on a place. On success it is
 * held, charged or not, until import_end(*ret). OUT_OF_MEMORY and the like as reserve_at().
 */
CUresult import_begin(struct node **ret, uint64_t name, struct place place, uint64_t bytes);
void import_end(struct node *import);

/* Before the driver is asked for something of this name: from here to import_end() whoever gives it
 * back knows that it is held, so that it is not without a charge for a moment. May be NULL. */
struct node *import_announce(uint64_t name);

/* Finds the import by the address or handle the driver gave for it. */
void import_keep(struct node *import, enum charge_space space, uint64_t key);
struct node *import_take(enum charge_space space, uint64_t key);

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
