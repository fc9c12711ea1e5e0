/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Imports: memory that several processes of a session share is charged once in the session.
 *
 * Shared memory has a *name* that is the same in every process: a hash of the 64 bytes of a legacy
 * IPC handle, a fabric handle or an exported pool pointer, or of the inode of a descriptor. The
 * process that is charged for the memory holds a file lock on one byte of the file `slots`, at an
 * offset that the name gives (far behind the file's contents). The kernel releases the lock however
 * that process ends, so no table is needed:
 *
 *      export       the owner, charged as usual, takes the lock if it is free
 *      import       if the lock is free, the importer takes it and is charged in full; else another
 *                   process of the session is charged already, and the importer is not
 *      later        an importer that is not charged tries the lock again at times and before each
 *                   grant (import_claim), and is charged once the first process is gone
 *      free         if the charged process frees memory that others still import, the memory
 *                   stays charged to it (orphan.h)
 *
 * Memory without a name is charged in every process that imports it. This is memory behind a
 * descriptor of the NVIDIA driver, because all such descriptors have the inode of its device file.
 * Several references to the same memory in one process count as one.
 *
 * The driver reports the size of memory behind a legacy handle. It does not report the size of
 * memory behind a descriptor or a fabric handle: the program *states* that size, when it imports
 * external memory or by the extent of its mappings. So such an import is charged the greatest size
 * stated in this process. Another process takes over the charge only if it is charged for the same
 * size, because the lock is on the name and the size. A process that states less than the exporter
 * is charged in addition, so the sum may be too high but never too low.
 */
#ifndef ALIQUOT_SHIM_CUDA_CHARGE_IMPORT_H
#define ALIQUOT_SHIM_CUDA_CHARGE_IMPORT_H

#include "shim/cuda/place/front.h"

/* Return the name of a handle or descriptor of shared memory; 0: it has no name. The size of memory
 * behind a fabric handle or descriptor is stated by the program. */
uint64_t import_name_bytes(const void *handle, size_t bytes);
uint64_t import_name_fabric(const void *handle, size_t bytes);
uint64_t import_name_fd(int fd);

/* Returns the size of the memory that this process itself exported under a name. 0: it exported
 * none under that name, so the size is unknown. */
uint64_t import_bytes_known(uint64_t name);

struct memory_import;

/*
 * Adds a reference to the import `name` (0: memory without a name) of `bytes` on `place`, and
 * charges it if no process of the session is charged yet. On success the import lives until
 * import_end(*ret). Errors as for reserve_at().
 */
CUresult import_begin(struct memory_import **ret, uint64_t name, struct place place,
                      uint64_t bytes);
void import_end(struct memory_import *import);

/* Adds a reference to the import `name` without a charge. Call it before the driver is asked to
 * import the memory: until import_end(), another process that frees the memory sees that it is
 * still imported, so the memory is never without a charge. NULL without a session, or if out of
 * memory. */
struct memory_import *import_announce(uint64_t name);

/*
 * Raises the charge of an import to `bytes` if it is smaller. The caller then calls the driver, and
 * passes the result to import_settle(); after a failure the charge is as before. Until
 * import_settle(), other threads that raise the charge of the same import wait.
 */
struct import_growth {
        struct memory_import *import; /* NULL: nothing to settle */
        struct charge more;
        void *charge_lock; /* the lock of the charged process, for the raised charge; NULL: none */
        uint64_t bytes;
        bool was_waiting;
        /* The charge is raised in this process. False: another process of the session is charged
         * for `bytes`. */
        bool is_charged;
};
CUresult import_grow(struct import_growth *ret, struct memory_import *import, struct place place,
                     uint64_t bytes);
CUresult import_settle(struct import_growth *growth, CUresult rc);

/* Store, remove and find the import that belongs to an address or handle returned by the driver. */
void import_keep(struct memory_import *import, enum charge_space space, uint64_t key);
struct memory_import *import_take(enum charge_space space, uint64_t key);
struct memory_import *import_find(enum charge_space space, uint64_t key);

/* Notes that the program made its own memory shareable under this name. `key` is the address or
 * number under which the memory's charge is kept; pass it to import_unexport() at the free. */
void import_export(uint64_t name, enum charge_space space, uint64_t key);

/* Ends an export because the program freed the memory. Moves `charge` to an import of the same
 * memory, if this process or another one of the session has such an import. The caller drops what
 * remains in `charge`. */
void import_unexport(enum charge_space space, uint64_t key, struct charge *charge);

/* Ends all exports of the destroyed context with number `owner`. Call before
 * charge_drop_owner(). */
void import_owner_gone(uint32_t owner);

/* Charges this process for its uncharged imports on `row` whose charged process is gone. -1: every
 * row. */
void import_claim(int row);

#endif
