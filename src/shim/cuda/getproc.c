/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuGetProcAddress, both ABIs.
 *
 * CUDA 12 gave the name a fifth parameter; which function a program gets for it depends on the
 * version that it asks with, and is decided like any other row (interpose/proc.h). Both forms
 * behave alike: what was asked before is answered at once, all else goes to the driver with the
 * program's own arguments, and only the address in a good answer is replaced.
 */
#include "interpose/proc.h"
#include "shim/apis.h"
#include "shim/cuda/hooks.h"
#include "shim/cuda/real.h"

#define KNOWN_FLAGS                                      \
        ((cuuint64_t)CU_GET_PROC_ADDRESS_LEGACY_STREAM | \
         (cuuint64_t)CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)

/* One call of a program. */
struct request {
        const char *name;
        void **address;
        int version;
        cuuint64_t flags;
        CUdriverProcAddressQueryResult *status; /* NULL in the older ABI, and where not wanted */
};

/* The newest version of which both the table and the driver know every ABI; 0 = not asked yet. */
static int trusted_version(void)
{
        static _Atomic int known;
        int version = load_relaxed(&known);

        if (version == 0 && real.cuDriverGetVersion(&version) == CUDA_SUCCESS) {
                if (version > cuda_table.version)
                        version = cuda_table.version;
                store_relaxed(&known, version);
        }
        return version;
}

static void *ask_again(const struct proc_query *query, int version)
{
        cuuint64_t flags = query->is_per_thread ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
                                                : CU_GET_PROC_ADDRESS_DEFAULT;
        void *address = NULL;

        if (real.cuGetProcAddress(query->name, &address, version, flags) != CUDA_SUCCESS)
                return NULL;
        return address;
}

static struct proc_query query_of(const struct request *r)
{
        return (struct proc_query){
                .api = &cuda_api,
                .name = r->name,
                .version = r->version,
                .is_per_thread = (r->flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0,
                .trusted_version = trusted_version(),
                .ask = ask_again,
        };
}

/* True if the request was answered without the driver. */
static bool is_answered(const struct request *r, const struct proc_query *query,
                        const struct proc_row *row)
{
        void *known = proc_known(query, row);

        if (!known)
                return false;
        *r->address = known;
        if (r->status)
                *r->status = CU_GET_PROC_ADDRESS_SUCCESS;
        return true;
}

/* Requests that only the driver can judge: nonsense, and flags of a later day. */
static bool is_strange(const struct request *r)
{
        return !r->name || !r->address || (r->flags & ~KNOWN_FLAGS) || r->flags == KNOWN_FLAGS;
}

CUresult hook_cuGetProcAddress(const char *name, void **address, int version, cuuint64_t flags)
{
        struct request r = { name, address, version, flags, NULL };

        if (is_strange(&r))
                return real.cuGetProcAddress(name, address, version, flags);

        struct proc_query query = query_of(&r);
        const struct proc_row *row = proc_find(&query);

        if (is_answered(&r, &query, row))
                return CUDA_SUCCESS;

        CUresult rc = real.cuGetProcAddress(name, address, version, flags);

        if (rc == CUDA_SUCCESS && *address)
                *address = proc_settle(&query, row, *address);
        return rc;
}

CUresult hook_cuGetProcAddress_v2(const char *name, void **address, int version, cuuint64_t flags,
                                  CUdriverProcAddressQueryResult *status)
{
        struct request r = { name, address, version, flags, status };

        if (is_strange(&r))
                return real.cuGetProcAddress_v2(name, address, version, flags, status);

        struct proc_query query = query_of(&r);
        const struct proc_row *row = proc_find(&query);

        if (is_answered(&r, &query, row))
                return CUDA_SUCCESS;

        CUresult rc = real.cuGetProcAddress_v2(name, address, version, flags, status);

        if (rc == CUDA_SUCCESS && *address)
                *address = proc_settle(&query, row, *address);
        return rc;
}
