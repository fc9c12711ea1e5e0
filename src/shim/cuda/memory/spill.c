/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocates and frees host memory in place of card memory. The driver reports where a block begins,
 * and the table of charges whether it is such a block, so there is no list of blocks.
 */
#include "shim/cuda/memory/spill.h"

#include "common/clock.h"
#include "common/host_memory.h"
#include "shim/cuda/charge/host_frees.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/stream/ask.h"

#define WAIT_TRIES 20000u
#define WAIT_SLEEP_NS UINT64_C(100000) /* together 2 s */

#define PINNED (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP)

CUresult spill_reserve(struct charge *ret, struct place place, uint64_t bytes)
{
        return charge_host() < 0 ? reserve_at(ret, place, bytes)
                                 : reserve_at_first(ret, place, bytes);
}

/* Allocates pinned memory. Fails if devices see it at another address than the host does, because
 * the program could not use it as device memory. */
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

/* Charges host memory. Blocks freed in stream order make room only when they are unpinned, so a
 * request that needs the room waits for their streams, as long as for memory of a dead process. */
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

/* Waits until no work uses the block, as cuMemFree does for card memory. */
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
