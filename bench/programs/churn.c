/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes and gives back device memory at random until its time is over; for bench/peers, which
 * starts many and kills some.
 *
 *      churn SECONDS SEED      prints how many blocks it was granted, how often it was told that
 *                              there is no memory, and how many calls failed in any other way
 */
#include <stdio.h>
#include <stdlib.h>

#include "abi/cuda.h"
#include "common/machine_clock.h"

#define BLOCKS 32u
#define MIB (UINT64_C(1) << 20)
#define LARGEST_MIB 16u

static unsigned granted, refused, failed;
static CUdeviceptr held[BLOCKS];

static void count(CUresult rc)
{
        granted += rc == CUDA_SUCCESS;
        refused += rc == CUDA_ERROR_OUT_OF_MEMORY;
        failed += rc != CUDA_SUCCESS && rc != CUDA_ERROR_OUT_OF_MEMORY;
}

static void give(unsigned i)
{
        if (held[i] && cuMemFree_v2(held[i]) != CUDA_SUCCESS)
                failed++;
        held[i] = 0;
}

static void step(void)
{
        unsigned i = (unsigned)rand() % BLOCKS;
        CUresult rc;

        give(i);
        rc = cuMemAlloc_v2(&held[i], (1 + (unsigned)rand() % LARGEST_MIB) * MIB);
        count(rc);
        if (rc == CUDA_SUCCESS)
                return;
        held[i] = 0;
        for (unsigned each = 0; each < BLOCKS; each += 4)
                give(each);
}

int main(int argc, char **argv)
{
        uint64_t end_ns;
        CUcontext context;
        CUresult rc;

        if (argc != 3)
                return 2;
        srand((unsigned)atoi(argv[2]));
        end_ns = clock_machine_ns() + (uint64_t)atoi(argv[1]) * CLOCK_SECOND_NS;
        rc = cuInit(0);
        if (rc == CUDA_SUCCESS)
                rc = cuCtxCreate_v2(&context, 0, 0);
        if (rc != CUDA_SUCCESS)
                count(rc);
        while (rc == CUDA_SUCCESS && clock_machine_ns() < end_ns)
                step();
        printf("%u %u %u\n", granted, refused, failed);
        return 0;
}
