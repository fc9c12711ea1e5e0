/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creates, finds and frees swappable blocks. A block is in `spans`, where lookups find it, from the
 * time when it is complete until nothing is mapped at its addresses.
 */
#include "shim/cuda/swap/block.h"

#include "common/minmax.h"
#include "shim/cuda/charge/host_frees.h"
#include "shim/cuda/driver/real.h"
#include "shim/cuda/state/swaps.h"
#include "shim/cuda/stream/ask.h"
#include "shim/cuda/stream/capture.h"
#include "shim/cuda/swap/move.h"
#include "shim/cuda/swap/segment.h"

#define MIN_BYTES (UINT64_C(1) << 20)
#define PAGE_BYTES (UINT64_C(2) << 20)
#define SEGMENT_BYTES (UINT64_C(64) << 20)
#define MAX_BYTES (UINT64_C(1) << 46) /* more than any card */

static bool can_map(CUdevice device)
{
        const CUmemAllocationProp prop = {
                .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device },
        };
        int is_supported = 0;
        size_t page_bytes = 0;

        return real.cuDeviceGetAttribute(&is_supported,
                                         CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                                         device) == CUDA_SUCCESS &&
               is_supported &&
               real.cuMemGetAllocationGranularity(
                       &page_bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM) == CUDA_SUCCESS &&
               page_bytes && PAGE_BYTES % page_bytes == 0;
}

/* Whether the driver can map memory. Asks the driver only once; if fill_block() later finds that
 * mapping fails, that result stays. */
static bool mapping_works(CUdevice device)
{
        uint32_t unasked = MAPPING_UNASKED;

        if (load_relaxed(&swap_state.swap_mapping) == MAPPING_UNASKED)
                cas_acq_rel(&swap_state.swap_mapping, &unasked,
                            can_map(device) ? MAPPING_WORKS : MAPPING_FAILS);
        return load_relaxed(&swap_state.swap_mapping) == MAPPING_WORKS;
}

bool swap_takes(struct place place, uint64_t bytes)
{
        return place.row >= 0 && place.row == room_rows().card && bytes >= MIN_BYTES &&
               bytes <= MAX_BYTES && !captures_are_open() && mapping_works(place.device);
}

/* -- Records ----------------------------------------------------------------------------------- */

/* Frees the records of a block and its segments. The caller holds swap_lock. */
static void block_drop(struct swap_block *block)
{
        for (struct swap_segment *segment = block->segments, *next; segment; segment = next) {
                next = segment->next;
                table_free(&swap_state.swap_segments, segment);
        }
        table_free(&swap_state.swap_blocks, block);
}

/* Creates the records of a block's segments. False: out of memory; some records may exist. The
 * caller holds swap_lock. */
static bool make_segments(struct swap_block *block)
{
        struct swap_segment **last = &block->segments;

        for (uint64_t at = 0; at < block->span_bytes; at += (*last)->bytes, last = &(*last)->next) {
                *last = table_make(&swap_state.swap_segments, sizeof(**last));
                if (!*last)
                        return false;
                (*last)->bytes = min_u64(SEGMENT_BYTES, block->span_bytes - at);
        }
        return true;
}

static struct swap_block *block_make(struct place place, uint64_t bytes)
{
        struct swap_block *block;

        lock_take(&swap_state.swap_lock);
        block = table_make(&swap_state.swap_blocks, sizeof(*block));
        if (block) {
                block->bytes = bytes;
                block->span_bytes = (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
                block->owner = place.owner;
                block->device = place.device;
                block->row = place.row;
                if (!make_segments(block) || !spans_reserve(&swap_state.spans)) {
                        block_drop(block);
                        block = NULL;
                }
        }
        lock_drop(&swap_state.swap_lock);
        return block;
}

/* Frees a block that was not put into `spans`. */
static void block_unmake(struct swap_block *block)
{
        lock_take(&swap_state.swap_lock);
        spans_unreserve(&swap_state.spans);
        block_drop(block);
        lock_drop(&swap_state.swap_lock);
}

static void block_put(struct swap_block *block)
{
        lock_take(&swap_state.swap_lock);
        spans_put(&swap_state.spans,
                  (struct address_span){ .start = block->link.key,
                                         .end = block->link.key + block->span_bytes,
                                         .of = block });
        lock_drop(&swap_state.swap_lock);
        add_relaxed(&swap_state.swap_live, 1u);
}

/* -- Creating ---------------------------------------------------------------------------------- */

/* Unmaps the segments that are mapped, and releases the address range. */
static void unback(struct swap_block *block)
{
        for (struct swap_segment *segment = block->segments; segment; segment = segment->next) {
                if (segment->handle)
                        segment_unmap(segment);
        }
        real.cuMemAddressFree(block->link.key, block->span_bytes);
}

/* Reserves an address range for the block and maps all its segments. After a failure, nothing is
 * reserved or mapped. */
static CUresult back(struct swap_block *block, const struct charge *charge)
{
        CUdeviceptr base = 0, at;
        CUresult rc = real.cuMemAddressReserve(&base, block->span_bytes, PAGE_BYTES, 0, 0);
        unsigned attempt = 0;

        if (rc != CUDA_SUCCESS)
                return rc;
        block->link.key = at = base;
        for (struct swap_segment *segment = block->segments; segment && rc == CUDA_SUCCESS;
             segment = segment->next) {
                segment->link.key = at;
                at += segment->bytes;
                do
                        rc = segment_map(segment, block->device);
                while (is_draining(charge, rc, &attempt));
        }
        if (rc == CUDA_SUCCESS)
                rc = segments_open(base, block->span_bytes, block->device);
        if (rc != CUDA_SUCCESS)
                unback(block);
        return rc;
}

/* Returns the driver's buffer ID of the block's first allocation, which the driver never reuses. If
 * there is none, returns a unique number with bit 62 set. */
static uint64_t number_of(const struct swap_block *block)
{
        static _Atomic uint64_t last;
        uint64_t id = 0;

        if (real.cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, block->link.key) ==
                    CUDA_SUCCESS &&
            id)
                return id;
        return UINT64_C(1) << 62 | (add_relaxed(&last, 1) + 1);
}

static CUresult fill_block(struct swap_block *block, struct place place)
{
        struct charge_swappable charge;
        struct relaxed was;
        CUresult rc;

        block->channel = swap_channel(place);
        if (!block->channel)
                return CUDA_ERROR_NOT_SUPPORTED;
        block->context = block->channel->context;
        rc = reserve_swappable(&charge, place, block->span_bytes);
        if (rc != CUDA_SUCCESS)
                return rc;
        was = relax();
        rc = back(block, &charge.card);
        unrelax(was);
        if (rc == CUDA_SUCCESS) {
                block->id = number_of(block);
                charge_keep(&charge.card, SPACE_POINTER, block->link.key);
                charge_keep(&charge.swap, SPACE_SWAP, block->link.key);
                block_put(block);
                swap_move_begin();
                return rc;
        }
        if (rc == CUDA_ERROR_OUT_OF_MEMORY)
                charge_note_driver_refused(&charge.card);
        charge_drop_swappable(&charge);
        if (rc == CUDA_ERROR_NOT_SUPPORTED)
                store_relaxed(&swap_state.swap_mapping, MAPPING_FAILS);
        return rc;
}

CUresult swap_alloc(CUdeviceptr *ret, struct place place, uint64_t bytes)
{
        struct swap_block *block = block_make(place, bytes);
        CUresult rc;

        if (!block)
                return CUDA_ERROR_OUT_OF_MEMORY;
        rc = fill_block(block, place);
        if (rc == CUDA_SUCCESS)
                *ret = block->link.key;
        else
                block_unmake(block);
        return rc;
}

/* -- Finding ----------------------------------------------------------------------------------- */

static bool are_none(void)
{
        return !load_relaxed(&swap_state.swap_live);
}

bool swap_find(CUdeviceptr address, struct swap_view *ret)
{
        const struct swap_block *block;

        if (are_none())
                return false;
        lock_take(&swap_state.swap_lock);
        block = spans_find(&swap_state.spans, address);
        if (block && address - block->link.key >= block->bytes)
                block = NULL;
        if (block)
                *ret = (struct swap_view){ .base = block->link.key,
                                           .bytes = block->bytes,
                                           .id = block->id,
                                           .context = block->context,
                                           .device = block->device };
        lock_drop(&swap_state.swap_lock);
        return block != NULL;
}

static struct swap_block *find_begin(CUdeviceptr address)
{
        struct swap_block *block;

        if (are_none())
                return NULL;
        lock_take(&swap_state.swap_lock);
        block = spans_find(&swap_state.spans, address);
        lock_drop(&swap_state.swap_lock);
        return block && block->link.key == address ? block : NULL;
}

bool swap_begins(CUdeviceptr address)
{
        return find_begin(address) != NULL;
}

/* -- Freeing ----------------------------------------------------------------------------------- */

static void drop_charge(CUdeviceptr address)
{
        struct charge charge;

        if (charge_take(&charge, SPACE_SWAP, address))
                charge_drop(&charge);
}

/* Unmaps all segments, as the first step of freeing a block. If the driver refuses to unmap one,
 * the block stays. */
static CUresult unmap(struct swap_block *block)
{
        for (struct swap_segment *segment = block->segments; segment; segment = segment->next) {
                CUresult rc = segment->handle ? segment_unmap(segment) : CUDA_SUCCESS;

                if (rc != CUDA_SUCCESS)
                        return rc;
        }
        return CUDA_SUCCESS;
}

/* Forgets a block that has no mappings. Releases the address range last, because the driver may
 * give it to another block at once. */
static void forget_block(struct swap_block *block)
{
        CUdeviceptr base = block->link.key;
        uint64_t span_bytes = block->span_bytes;

        drop_charge(base);
        lock_take(&swap_state.swap_lock);
        spans_take(&swap_state.spans, base);
        block_drop(block);
        lock_drop(&swap_state.swap_lock);
        add_relaxed(&swap_state.swap_live, -1u);
        real.cuMemAddressFree(base, span_bytes);
}

/* Frees the host memory of the segments. The block's context is current. */
static void free_host(struct swap_block *block)
{
        for (struct swap_segment *segment = block->segments; segment; segment = segment->next) {
                if (segment->host)
                        real.cuMemFreeHost(segment->host);
        }
}

static CUresult free_block(CUdeviceptr address, bool waits)
{
        struct swap_block *block = find_begin(address);
        CUcontext popped;
        struct relaxed was;
        CUresult rc;

        if (!block)
                return CUDA_ERROR_INVALID_VALUE;
        rc = real.cuCtxPushCurrent_v2(block->context);
        if (rc != CUDA_SUCCESS)
                return rc;
        if (waits)
                rc = host_free_wait();
        was = relax();
        if (rc == CUDA_SUCCESS)
                rc = unmap(block);
        if (rc == CUDA_SUCCESS) {
                free_host(block);
                forget_block(block);
        }
        unrelax(was);
        real.cuCtxPopCurrent_v2(&popped);
        return rc;
}

static CUresult unpin(CUdeviceptr address)
{
        return free_block(address, false);
}

CUresult swap_free(CUdeviceptr address)
{
        CUresult rc = free_block(address, true);

        if (rc == CUDA_SUCCESS)
                host_frees_sweep();
        return rc;
}

CUresult swap_free_in_order(struct charge *taken, CUdeviceptr address, CUstream stream)
{
        return host_free_in_order(taken, address, stream, unpin);
}

/* -- Ranges ------------------------------------------------------------------------------------ */

/* Returns the first block that overlaps [address, end), or NULL. */
static struct swap_block *find_in(CUdeviceptr address, CUdeviceptr end)
{
        struct swap_block *block = NULL;
        const struct address_span *span;

        lock_take(&swap_state.swap_lock);
        span = spans_above(&swap_state.spans, address);
        if (span && span->start < end)
                block = span->of;
        lock_drop(&swap_state.swap_lock);
        return block;
}

bool swap_meets(CUdeviceptr address, uint64_t bytes)
{
        CUdeviceptr end = address + bytes;

        return !are_none() && find_in(address, end < address ? UINT64_MAX : end);
}

void swap_pin(CUdeviceptr address, uint64_t bytes)
{
        CUdeviceptr end = address + bytes;
        struct swap_block *block;

        if (are_none() || end < address)
                return;
        while ((block = find_in(address, end))) {
                block->is_pinned = true;
                drop_charge(block->link.key);
                address = block->link.key + block->span_bytes;
        }
}

/* Returns the first block of the context `owner` that ends above the address, or NULL. */
static struct swap_block *find_of(uint32_t owner, CUdeviceptr above)
{
        const struct address_span *span, *end;
        struct swap_block *found = NULL;

        lock_take(&swap_state.swap_lock);
        span = spans_above(&swap_state.spans, above);
        end = swap_state.spans.span + swap_state.spans.count;
        for (; span && span < end && !found; span++) {
                struct swap_block *block = span->of;

                if (block->owner == owner)
                        found = block;
        }
        lock_drop(&swap_state.swap_lock);
        return found;
}

/* The driver has freed the host memory of the blocks with the context. A segment that the driver
 * refuses to unmap stays on the card, and is charged as part of the remainder
 * (charge/remainder.h). */
void swap_owner_gone(uint32_t owner)
{
        CUdeviceptr above = 0;
        struct swap_block *block;

        if (!owner || are_none())
                return;
        while ((block = find_of(owner, above))) {
                above = block->link.key + block->span_bytes;
                unmap(block);
                forget_block(block);
        }
        swap_channel_gone(owner);
}
