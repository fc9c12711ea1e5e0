/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks for cuGetProcAddress, in both ABIs.
 *
 * CUDA 12 gave the function a fifth parameter (cuGetProcAddress_v2). Which form a program gets
 * depends on the version in its request, as for every other function with several versions
 * (interpose/proc.h). Both forms behave alike: a request that was made before is answered without
 * the driver. Any other request goes to the driver with the program's own arguments, and only the
 * address in a successful answer is replaced.
 */
#include "interpose/library.h"
#include "interpose/proc.h"
#include "shim/apis.h"
#include "shim/cuda/driver/hooks.h"
#include "shim/cuda/driver/real.h"

#define KNOWN_FLAGS                                      \
        ((cuuint64_t)CU_GET_PROC_ADDRESS_LEGACY_STREAM | \
         (cuuint64_t)CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)

/* The arguments of one call by the program. */
struct proc_request {
        const char *name;
        void **address;
        int version;
        cuuint64_t flags;
        /* NULL in the older ABI, and if the program gave none. */
        CUdriverProcAddressQueryResult *status;
};

/* Returns the newest CUDA version for which both our table and the driver know the ABI of every
 * function. 0: the driver failed; the next call asks again. */
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

static struct proc_query query_of(const struct proc_request *r)
{
        return (struct proc_query){
                .api = &cuda_api,
                .name = r->name,
                .version = r->version,
                .is_per_thread = (r->flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0,
                .trusted_version = r->flags & ~KNOWN_FLAGS ? 0 : trusted_version(),
                .ask = ask_again,
        };
}

/* Answers a request without the driver if the answer is known. Returns whether it was. */
static bool is_answered(const struct proc_request *r, const struct proc_query *query,
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

static bool driver_has(const char *symbol)
{
        return library_has(&cuda_api, (unsigned)api_find(&cuda_api, symbol));
}

/*
 * Answers a request for which the driver lacks the called form of cuGetProcAddress. Our own library
 * exports both forms, whatever the driver has, so a program may find a form that the driver lacks
 * (the newer form came with CUDA 12, the older with 11.3). The answer then comes from the older
 * form if the driver has that, or from the driver's exported symbols. Sources: the exports of
 * drivers 418, 470 and 535.
 */
static void *find_without(const struct proc_request *r, const struct proc_query *query,
                          const struct proc_row *row)
{
        void *address = NULL;

        if (row && text_equals(r->name, "cuGetProcAddress"))
                return entry_thunk(&cuda_api, row->entry);
        if (!driver_has("cuGetProcAddress"))
                return proc_exported(query, row);
        if (real.cuGetProcAddress(r->name, &address, r->version, r->flags) != CUDA_SUCCESS ||
            !address)
                return NULL;
        return proc_settle(query, row, address);
}

/* Answers in the newer form, with the reason if no function is found. */
static CUresult answer_without(const struct proc_request *r, const struct proc_query *query,
                               const struct proc_row *row)
{
        CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;

        *r->address = find_without(r, query, row);
        if (!*r->address)
                status = proc_is_name(query) ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                             : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
        if (r->status)
                *r->status = status;
        return CUDA_SUCCESS;
}

/* Whether the driver is there, and lacks this form. */
static bool driver_lacks(const char *form)
{
        return library_get(&cuda_api) && !driver_has(form);
}

CUresult hook_cuGetProcAddress(const char *name, void **address, int version, cuuint64_t flags)
{
        struct proc_request r = { name, address, version, flags, NULL };

        if (!name || !address)
                return real.cuGetProcAddress(name, address, version, flags);

        struct proc_query query = query_of(&r);
        const struct proc_row *row = proc_find(&query);

        if (is_answered(&r, &query, row))
                return CUDA_SUCCESS;

        if (driver_lacks("cuGetProcAddress")) {
                *address = find_without(&r, &query, row);
                return *address ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
        }

        CUresult rc = real.cuGetProcAddress(name, address, version, flags);

        if (rc == CUDA_SUCCESS && *address)
                *address = proc_settle(&query, row, *address);
        return rc;
}

CUresult hook_cuGetProcAddress_v2(const char *name, void **address, int version, cuuint64_t flags,
                                  CUdriverProcAddressQueryResult *status)
{
        struct proc_request r = { name, address, version, flags, status };

        if (!name || !address)
                return real.cuGetProcAddress_v2(name, address, version, flags, status);

        struct proc_query query = query_of(&r);
        const struct proc_row *row = proc_find(&query);

        if (is_answered(&r, &query, row))
                return CUDA_SUCCESS;

        if (driver_lacks("cuGetProcAddress_v2"))
                return answer_without(&r, &query, row);

        CUresult rc = real.cuGetProcAddress_v2(name, address, version, flags, status);

        if (rc == CUDA_SUCCESS && *address)
                *address = proc_settle(&query, row, *address);
        return rc;
}
