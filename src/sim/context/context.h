/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts, the context stack of each thread, and sticky errors.
 *
 * A CUcontext points to a struct CUctx_st that is never freed, only marked destroyed, so that a
 * stale handle gets an error. A primary context that was released returns under the same handle
 * with another `id`: objects that outlive their context remember the id. Entry points that need a
 * context call context_require().
 *
 * A sticky error (illegal address, launch failure, device lost) is set once by context_poison().
 * Every later call on the context returns it until the context is destroyed, as with the driver.
 */
#ifndef ALIQUOT_SIM_CONTEXT_CONTEXT_H
#define ALIQUOT_SIM_CONTEXT_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "abi/cuda.h"

#define CONTEXT_MAGIC 0x43747874u

/* The heap for malloc() in kernels; every context has one, as part of its memory. */
#define CONTEXT_HEAP_BYTES (UINT64_C(8) << 20)

/* The stack of a thread that every context has, likewise. */
#define CONTEXT_STACK_BYTES UINT64_C(1024)

/* Parts that a context may take beyond its initial memory; see growth.h. */
enum growth { GROWTH_STACK, GROWTH_HEAP, GROWTH_PRINTF, GROWTH_GRAPHS, GROWTH_POOLS, GROWTH_COUNT };

struct CUctx_st {
        uint32_t magic; /* CONTEXT_MAGIC, first */
        /* Constant once made. */
        CUdevice device; /* ordinal of this process: an index into the visible devices */
        unsigned unit;   /* the node's device, which all node_*() calls take */
        bool is_primary;

        _Atomic unsigned long long id; /* of its present life; set before the context is used */
        unsigned api_version;
        _Atomic int error; /* CUresult, sticky; writer: the first poisoner */
        _Atomic bool is_destroyed;
        _Atomic unsigned flags;
        _Atomic unsigned users;             /* cuCtxAttach, or retains of a primary context */
        size_t limits[16];                  /* by CUlimit; guarded by process_lock */
        uint64_t grown_bytes[GROWTH_COUNT]; /* granted beyond its initial memory; likewise */
        uint64_t code_bytes;                /* of modules, within the context's reserve; likewise */
        CUfunc_cache cache_config;
        CUsharedconfig shared_config;
        uint32_t peers; /* bit per ordinal: access enabled; guarded by process_lock */

        /* Owned by the execution side (exec/exec.h): NULL until exec_context_open(). */
        struct exec_context *exec;
        struct CUctx_st *next; /* all contexts of the process; guarded by process_lock */
};

/* Guards the process's tables of contexts, pools, arrays. Never held across a user's callback or
 * while waiting for the device. Recursive: no. */
extern pthread_mutex_t process_lock;

/* The calling thread's current context, or NULL. No checks. */
CUcontext context_current(void);

/* The current context, if usable; else INVALID_CONTEXT, CONTEXT_IS_DESTROYED or its sticky error;
 * NOT_PERMITTED in a host function. */
CUresult context_require(CUcontext *ret_context);

/* For a live context its sticky error or SUCCESS, else INVALID_CONTEXT. */
CUresult context_check(CUcontext context);

/* For objects made in the life `id` of the context: another life is CONTEXT_IS_DESTROYED. */
CUresult context_check_life(CUcontext context, unsigned long long id);

/* Sets the sticky error if there is none yet. Any thread. */
void context_poison(CUcontext context, CUresult error);

/* The device's primary context, made if need be, without a retain; for the stream-ordered calls
 * that name a device. NULL when the device cannot hold another context. */
CUcontext context_primary(CUdevice device);

/* All contexts of a device of this process get the error (device lost). */
void context_poison_all(CUresult error);

#endif
