/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts, the context stack of each thread, and sticky errors.
 *
 * A CUcontext points to a struct CUctx_st that is never freed, only marked destroyed, so that a
 * call with the handle of a destroyed context returns an error. A primary context that was released
 * can begin again, with the same handle and another `id`. Objects that may outlive their context
 * store that id. Driver functions that need a context call context_require().
 *
 * A sticky error (illegal address, launch failure, device lost) is set once by context_poison().
 * Every later call on the context returns it until the context is destroyed, as with the real
 * driver.
 */
#ifndef ALIQUOT_SIM_CONTEXT_CONTEXT_H
#define ALIQUOT_SIM_CONTEXT_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "abi/cuda.h"

#define CONTEXT_MAGIC 0x43747874u

/* The heap for malloc() in kernels. Every context has one, as part of its initial memory. */
#define CONTEXT_HEAP_BYTES (UINT64_C(8) << 20)

/* The stack that a context has for each thread, as part of its initial memory. */
#define CONTEXT_STACK_BYTES UINT64_C(1024)

/* Parts by which a context may exceed its initial memory; see growth.h. */
enum growth { GROWTH_STACK, GROWTH_HEAP, GROWTH_PRINTF, GROWTH_GRAPHS, GROWTH_POOLS, GROWTH_COUNT };

struct CUctx_st {
        uint32_t magic; /* CONTEXT_MAGIC; must be the first field */
        /* Constant fields. */
        CUdevice device; /* ordinal in this process: an index into its visible devices */
        unsigned unit;   /* index of the device in the node, which all node_*() functions take */
        bool is_primary;

        /* a new one for each time that the context begins; set before the context is used */
        _Atomic unsigned long long id;
        unsigned api_version;
        /* CUresult, sticky; set once, by the first thread that reports an error */
        _Atomic int error;
        _Atomic bool is_destroyed;
        _Atomic unsigned flags;
        /* number of cuCtxAttach() references, or retains of a primary context */
        _Atomic unsigned users;
        size_t limits[16]; /* indexed by CUlimit; guarded by process_lock */
        /* memory granted beyond the initial memory; guarded by process_lock */
        uint64_t grown_bytes[GROWTH_COUNT];
        /* code of modules that is within the memory that the context has for code; guarded by
         * process_lock */
        uint64_t code_bytes;
        CUfunc_cache cache_config;
        CUsharedconfig shared_config;
        /* one bit per ordinal: access to that device is enabled; guarded by process_lock */
        uint32_t peers;

        /* The context's streams; owned by exec/exec.h. NULL until exec_context_open(). */
        struct exec_context *exec;
        struct CUctx_st *next; /* next context of the process; guarded by process_lock */
};

/* Guards the process's tables of contexts, pools and arrays. Not recursive. Never held during a
 * callback of the program or while waiting for the device. */
extern pthread_mutex_t process_lock;

/* Returns the calling thread's current context, or NULL. Checks nothing. */
CUcontext context_current(void);

/* Returns the current context, if it is usable. Otherwise INVALID_CONTEXT, CONTEXT_IS_DESTROYED or
 * the context's sticky error; NOT_PERMITTED in a host function. */
CUresult context_require(CUcontext *ret_context);

/* Returns the sticky error (or SUCCESS) of a context that is alive. CONTEXT_IS_DESTROYED or
 * INVALID_CONTEXT otherwise. */
CUresult context_check(CUcontext context);

/* Checks the context of an object that stored the context's `id`. CONTEXT_IS_DESTROYED if the
 * context has begun again since. */
CUresult context_check_life(CUcontext context, unsigned long long id);

/* Sets the sticky error of a context if it has none yet. Any thread. */
void context_poison(CUcontext context, CUresult error);

/* Returns the device's primary context, without a retain, and begins it if needed. For
 * stream-ordered calls with a device parameter. NULL when the device has no memory for another
 * context. */
CUcontext context_primary(CUdevice device);

/* Sets the sticky error of all contexts of this process (for lost devices). */
void context_poison_all(CUresult error);

#endif
