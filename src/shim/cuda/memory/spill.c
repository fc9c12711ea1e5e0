/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host memory in place of the card's; spill.h has the contract. The driver says where a block
 * begins, and the table of live blocks whether it is one of these: there is no other list.
 */
#include "shim/cuda/memory/spill.h"

#include "common/clock.h"
#include "common/host_memory.h"
#include "shim/cuda/charge/host_frees.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/stream/ask.h"

#define WAIT_TRIES 20000u
#define WAIT_SLEEP_NS UINT64_C(100000) /* 2 s in all */

#define PINNED (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP)

CUresult spill_reserve(struct charge *ret, struct place place, uint64_t bytes)
{
        return charge_host() < 0 ? reserve_at(ret, place, bytes)
                                 : reserve_at_first(ret, place, bytes);
}

/* Where devices see pinned memory at another address than programs do, it is of no use here. */
static CUresult pin(CUdeviceptr *ret, uint64_t bytes)
{
        void *host = NULL;
        CUresult rc = real.cuMemHostAlloc(&host, bytes, PINNED);

        if (rc != CUDA_SUCCESS)
                return rc;
        rc = real.cuMemHostGetDevicePointer_v2(ret, host, 0);
        if (rc == CUDA_SUCCESS && *ret == key_of(host))
                return rc;

        scoped_relaxed struct relaxed was = relax();
        (void)real.cuMemFreeHost(host);
        return CUDA_ERROR_OUT_OF_MEMORY;
}

/* Memory freed in stream order gives no room before it is unpinned: a request that needs that room
 * waits for the stream, as long as for a card that drains. */
static bool charge_in_time(struct charge *charge, uint64_t bytes)
{
        for (unsigned i = 0;; i++) {
                bool is_pending = host_frees_are_pending();

                if (bytes <= host_memory_spare() && charge_begin(charge, charge_host(), bytes))
                        return true;
                if (!is_pending || i == WAIT_TRIES)
                        return false;
                if (i)
                        clock_sleep_ns(WAIT_SLEEP_NS);
                host_frees_sweep();
        }
}

static CUresult pin_charged(CUdeviceptr *ret, struct place place, uint64_t bytes)
{
        struct charge charge = { .device = CHARGE_NO_DEVICE };
        CUresult rc = CUDA_ERROR_OUT_OF_MEMORY;

        if (charge_in_time(&charge, bytes)) {
                charge.owner = place.owner;
                rc = pin(ret, bytes);
        }
        if (rc == CUDA_ERROR_OUT_OF_MEMORY)
                charge_note_refused(place.row);
        return settle(&charge, rc, SPACE_POINTER, rc == CUDA_SUCCESS ? *ret : 0);
}

CUresult spill(CUresult rc, CUdeviceptr *ret, struct place place, uint64_t bytes)
{
        if (rc != CUDA_ERROR_OUT_OF_MEMORY || charge_host() < 0 || place.row < 0 || !ret || !bytes)
                return rc;
        return pin_charged(ret, place, bytes);
}

/* When nothing uses it any more: so does cuMemFree of the card's memory. */
CUresult spill_free(CUdeviceptr address)
{
        CUresult rc = host_unpin_at_once(address);

        if (rc == CUDA_SUCCESS)
                host_frees_sweep();
        return rc;
}

CUresult spill_free_in_order(struct charge *taken, CUdeviceptr address, CUstream stream)
{
        return host_free_in_order(taken, address, stream, host_unpin);
}

bool spill_find(CUdeviceptr address, CUdeviceptr *ret_base, uint64_t *ret_bytes)
{
        CUdeviceptr base = 0;
        int host = charge_host();

        if (host < 0 ||
            real.cuPointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address) !=
                    CUDA_SUCCESS ||
            charge_device(SPACE_POINTER, base) != host)
                return false;
        *ret_base = base;
        *ret_bytes = charge_held(SPACE_POINTER, base);
        return true;
}
