/* SPDX-License-Identifier: Apache-2.0 */
#include "sequence.h"

#include "watch.h"

#define MIB (UINT64_C(1) << 20)
#define TOO_MUCH (UINT64_C(1) << 50)
#define NOBODYS ((CUdeviceptr)4096)

static void take(struct side *side, unsigned i)
{
        CUdeviceptr *memory = &side->block[i].memory;
        enum block_kind kind = BLOCK_PLAIN + draw(4);
        unsigned at = draw(STREAMS);
        CUstream stream = side->stream[at];
        size_t bytes = BLOCK_WORDS * 4 + draw(2 * MIB);
        CUresult rc;

        if (kind == BLOCK_PLAIN)
                rc = ASK(cuMemAlloc_v2(memory, bytes));
        else if (kind == BLOCK_MANAGED)
                rc = ASK(cuMemAllocManaged(memory, bytes, CU_MEM_ATTACH_GLOBAL));
        else if (kind == BLOCK_OF_POOL && side->pool)
                rc = ASK(cuMemAllocFromPoolAsync(memory, bytes, side->pool, stream));
        else
                rc = ASK(cuMemAllocAsync(memory, bytes, stream));
        if (rc != CUDA_SUCCESS)
                return;
        side->block[i].kind = kind;
        side->block[i].at = at;
        ASK(cuMemsetD32Async(*memory, draw(1 << 30), BLOCK_WORDS, stream));
}

static void read_block(struct side *side, unsigned i)
{
        static _Thread_local uint32_t words[BLOCK_WORDS];
        CUstream stream = side->stream[side->block[i].at];
        uint64_t sum = 0;

        ASK(cuMemcpyDtoHAsync_v2(words, side->block[i].memory, sizeof(words), stream));
        ASK(cuStreamSynchronize(stream));
        for (unsigned at = 0; at < BLOCK_WORDS; at++)
                sum = sum * 31 + words[at];
        note("block", sum);
}

/* What is of a pool, or plain, may go in the order of a stream, and at once. */
static void give_back(struct side *side, unsigned i)
{
        CUdeviceptr memory = side->block[i].memory;
        enum block_kind kind = side->block[i].kind;

        if (kind == BLOCK_MANAGED || draw(3) == 0)
                ASK(cuMemFree_v2(memory));
        else
                ASK(cuMemFreeAsync(memory, side->stream[side->block[i].at]));
        side->block[i].kind = BLOCK_NONE;
}

void change_block(struct side *side)
{
        unsigned i = draw(BLOCKS);

        if (side->block[i].kind == BLOCK_NONE) {
                take(side, i);
                return;
        }
        read_block(side, i);
        give_back(side, i);
}

void free_blocks(struct side *side)
{
        for (unsigned i = 0; i < BLOCKS; i++) {
                if (side->block[i].kind == BLOCK_NONE)
                        continue;
                read_block(side, i);
                give_back(side, i);
        }
        if (side->pool)
                ASK(cuMemPoolDestroy(side->pool));
        side->pool = NULL;
}

void change_pool(struct side *side)
{
        CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
        uint64_t kept = draw(3) * 4 * MIB;

        if (!side->pool) {
                ASK(cuMemPoolCreate(&side->pool, &props));
                return;
        }
        switch (draw(3)) {
        case 0:
                ASK(cuMemPoolTrimTo(side->pool, 0));
                break;
        case 1:
                ASK(cuMemPoolSetAttribute(side->pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &kept));
                break;
        default: /* with blocks of it that live on, or without */
                ASK(cuMemPoolDestroy(side->pool));
                side->pool = NULL;
        }
}

void ask_in_vain(struct side *side)
{
        CUstream stream = side->stream[draw(STREAMS)];
        CUdeviceptr memory;
        CUcontext context;
        float ms;

        switch (draw(12)) {
        case 0:
                ASK(cuLaunchKernel(side->spin, 0, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
                break;
        case 1:
                ASK(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
                break;
        case 2:
                ASK(cuMemAlloc_v2(&memory, 0));
                break;
        case 3:
                ASK(cuMemAlloc_v2(&memory, TOO_MUCH));
                break;
        case 4:
                ASK(cuMemFree_v2(NOBODYS));
                break;
        case 5:
                ASK(cuMemFreeAsync(NOBODYS, stream));
                break;
        case 6:
                ASK(cuStreamDestroy_v2(NULL));
                break;
        case 7: /* keeps no time */
                ASK(cuEventElapsedTime(&ms, side->event, side->event));
                break;
        case 8:
                ASK(cuGraphLaunch(NULL, stream));
                break;
        case 9:
                ASK(cuMemcpyDtoDAsync_v2(side->memory[0], NOBODYS, 64, stream));
                break;
        case 10:
                ASK(cuDevicePrimaryCtxRetain(&context, 99));
                break;
        default:
                ASK(cuMemAllocAsync(&memory, TOO_MUCH, stream));
        }
}
