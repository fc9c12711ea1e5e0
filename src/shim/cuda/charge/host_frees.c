/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cuda/charge/host_frees.h"

#include "common/clock.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/place/front.h"
#include "shim/cuda/state/host_frees.h"
#include "shim/cuda/stream/access.h"
#include "shim/cuda/stream/ask.h"
#include "shim/cuda/stream/capture.h"

#define HOLD_SLEEP_NS 20000
#define HOLD_TRIES 100000u /* together at least 2 s */

/* A block that was freed in stream order. Guarded by host_frees_lock. */
struct host_free {
        struct table_link link; /* key: the block's number, under which its charge is kept */
        CUdeviceptr address;
        uint32_t owner; /* number of the context that allocated the block */
        host_unpinner *unpin;
        bool is_passed;
};

/* Marks a block as passed. Runs on a thread of the driver, on which CUDA calls are forbidden. If
 * the block's context was destroyed, the block is no longer in the table. */
static void passed(void *number)
{
        struct host_free *block;

        lock_take(&host_frees_state.host_frees_lock);
        block = table_find(&host_frees_state.host_frees, key_of(number));
        if (block)
                block->is_passed = true;
        lock_drop(&host_frees_state.host_frees_lock);
}

/* Adds a block to the table and returns its number. 0: out of memory. */
static uint64_t note_block(CUdeviceptr address, uint32_t owner, host_unpinner *unpin)
{
        struct host_free *block;
        uint64_t number = 0;

        lock_take(&host_frees_state.host_frees_lock);
        block = table_make(&host_frees_state.host_frees, sizeof(*block));
        if (block) {
                number = ++host_frees_state.host_frees_last_number;
                block->link.key = number;
                block->address = address;
                block->owner = owner;
                block->unpin = unpin;
                table_put(&host_frees_state.host_frees, block);
                add_relaxed(&host_frees_state.host_frees_live, 1u);
        }
        lock_drop(&host_frees_state.host_frees_lock);
        return number;
}

/* Removes a block from the table and frees its entry. The caller holds host_frees_lock. */
static void remove_block(struct host_free *block)
{
        table_remove(&host_frees_state.host_frees, block);
        table_free(&host_frees_state.host_frees, block);
        add_acq_rel(&host_frees_state.host_frees_live, -1u);
}

CUresult host_free_in_order(struct charge *taken, CUdeviceptr address, CUstream stream,
                            host_unpinner *unpin)
{
        struct host_free *block;
        uint64_t number;
        CUresult rc;

        if (may_be_capturing(stream))
                return CUDA_ERROR_INVALID_VALUE;
        number = note_block(address, taken->owner, unpin);
        if (!number)
                return CUDA_ERROR_OUT_OF_MEMORY;
        charge_keep(taken, SPACE_FREED_HOST, number);
        rc = real.cuLaunchHostFunc(stream, passed, (void *)(uintptr_t)number);
        if (rc == CUDA_SUCCESS)
                return rc;
        charge_take(taken, SPACE_FREED_HOST, number);
        lock_take(&host_frees_state.host_frees_lock);
        block = table_find(&host_frees_state.host_frees, number);
        if (block)
                remove_block(block);
        lock_drop(&host_frees_state.host_frees_lock);
        return rc;
}

static CUresult alloc_relaxed(void **ret)
{
        scoped_relaxed struct relaxed was = relax();

        return real.cuMemHostAlloc(ret, 1, 0);
}

/* While a capture is open, cuCtxSynchronize would invalidate it, in every capture mode.
 * cuMemFreeHost waits for the context too, so a one-byte block is allocated and freed instead. The
 * free runs in the thread's own capture mode, as cuMemFree would. */
CUresult host_free_wait(void)
{
        void *unused = NULL;
        CUresult rc;

        if (!captures_are_open())
                return real.cuCtxSynchronize();
        rc = alloc_relaxed(&unused);
        if (rc != CUDA_SUCCESS)
                return rc;
        rc = real.cuMemFreeHost(unused);
        if (rc != CUDA_SUCCESS) {
                scoped_relaxed struct relaxed was = relax();

                real.cuMemFreeHost(unused);
        }
        return rc;
}

static CUresult unpin(CUdeviceptr address, bool waits)
{
        CUcontext context = NULL, popped;
        CUresult rc = real.cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, address);

        if (rc == CUDA_SUCCESS)
                rc = real.cuCtxPushCurrent_v2(context);
        if (rc != CUDA_SUCCESS)
                return rc;
        if (waits)
                rc = real.cuCtxSynchronize();
        if (rc == CUDA_SUCCESS)
                rc = real.cuMemFreeHost((void *)(uintptr_t)address);
        real.cuCtxPopCurrent_v2(&popped);
        return rc;
}

CUresult host_unpin_at_once(CUdeviceptr address)
{
        return unpin(address, !captures_are_open());
}

CUresult host_unpin(CUdeviceptr address)
{
        return unpin(address, false);
}

bool host_frees_are_pending(void)
{
        return load_acquire(&host_frees_state.host_frees_live) != 0;
}

/* Removes one passed block from the table. The block still counts in host_frees_live until
 * unpin_passed() is done. */
static bool take_passed(struct host_free *ret)
{
        struct host_free *block;

        lock_take(&host_frees_state.host_frees_lock);
        block = table_each(&host_frees_state.host_frees, NULL);
        while (block && !block->is_passed)
                block = table_each(&host_frees_state.host_frees, block);
        if (block) {
                *ret = *block;
                add_acq_rel(&host_frees_state.host_frees_live, 1u);
                remove_block(block);
        }
        lock_drop(&host_frees_state.host_frees_lock);
        return block;
}

/* Unpins a block and releases its charge. The charge is taken out of the table first, because
 * another block may get the same address at once. If the driver fails for another reason than an
 * unknown address, the block stays charged until its context is destroyed. */
static void unpin_passed(const struct host_free *block)
{
        scoped_relaxed struct relaxed was = relax();
        struct charge charge;
        CUresult rc;

        charge_take(&charge, SPACE_FREED_HOST, block->link.key);
        rc = block->unpin(block->address);
        if (rc == CUDA_SUCCESS || rc == CUDA_ERROR_INVALID_VALUE)
                charge_drop(&charge);
        else
                charge_keep(&charge, SPACE_FREED_HOST, block->link.key);
        /* After the release of the charge: a thread that waits for room and sees no pending frees
         * any more then finds that room. */
        add_acq_rel(&host_frees_state.host_frees_live, -1u);
}

void host_frees_sweep(void)
{
        struct host_free block;

        if (!host_frees_are_pending() || !access_try())
                return;
        add_acq_rel(&host_frees_state.host_free_sweeps, 1u);
        fence_seq_cst();
        while (!load_acquire(&host_frees_state.host_free_ends) && take_passed(&block))
                unpin_passed(&block);
        add_acq_rel(&host_frees_state.host_free_sweeps, -1u);
        access_end(CUDA_SUCCESS);
}

/* Also waits until the unpinnings in progress are done, but at most HOLD_TRIES sleeps: an unpinning
 * waits for the device, and the end of the context may wait for the same work. */
void host_frees_hold(void)
{
        add_acq_rel(&host_frees_state.host_free_ends, 1u);
        fence_seq_cst();
        for (unsigned i = 0; load_acquire(&host_frees_state.host_free_sweeps) && i < HOLD_TRIES;
             i++)
                clock_sleep_ns(HOLD_SLEEP_NS);
}

void host_frees_go_on(void)
{
        add_acq_rel(&host_frees_state.host_free_ends, -1u);
}

/* Returns some block of the context with number `owner`, or NULL. The caller holds
 * host_frees_lock. */
static struct host_free *find_of(uint32_t owner)
{
        struct host_free *block = table_each(&host_frees_state.host_frees, NULL);

        while (block && block->owner != owner)
                block = table_each(&host_frees_state.host_frees, block);
        return block;
}

void host_frees_owner_gone(uint32_t owner)
{
        struct host_free *block;

        if (!owner || !host_frees_are_pending())
                return;
        lock_take(&host_frees_state.host_frees_lock);
        while ((block = find_of(owner)))
                remove_block(block);
        lock_drop(&host_frees_state.host_frees_lock);
}
