/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pools: memory in stream order, kept by the pool between uses, and given back by a trim.
 */
#include "check.h"

#include <cstdint>

int main()
{
        const size_t bytes = 24 << 20;
        uint64_t keep = UINT64_MAX, reserved = 0, used = 0;
        unsigned char value = 0;
        cudaMemPool_t pool;
        cudaStream_t stream;
        void *block;

        CHECK(cudaStreamCreate(&stream));
        CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
        CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
        for (int round = 1; round <= 8; round++) {
                CHECK(cudaMallocAsync(&block, bytes, stream));
                CHECK(cudaMemsetAsync(block, round, bytes, stream));
                CHECK(cudaMemcpyAsync(&value, (char *)block + bytes - 1, 1, cudaMemcpyDeviceToHost,
                                      stream));
                CHECK(cudaFreeAsync(block, stream));
                CHECK(cudaStreamSynchronize(stream));
                REQUIRE(value == round);
        }
        CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
        CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
        REQUIRE(reserved >= bytes && used == 0);
        CHECK(cudaMemPoolTrimTo(pool, 0));
        CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
        REQUIRE(reserved == 0);
        CHECK(cudaStreamDestroy(stream));
        printf("8 rounds in one pool, all of it given back\n");
        return 0;
}
