/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fill_memory [MIB]: takes blocks of MIB (16) until the card has no more, and says what it saw.
 *
 * Being refused is an ordinary error: what is held stays usable, and the last error is cleared by
 * reading it.
 */
#include "check.h"

#include <vector>

static void show(const char *when)
{
        size_t free_bytes, total_bytes;

        CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
        printf("%s: total %zu, free %zu\n", when, total_bytes, free_bytes);
}

int main(int argc, char **argv)
{
        size_t bytes = (size_t)(argc > 1 ? atoi(argv[1]) : 16) << 20;
        std::vector<void *> blocks;
        unsigned char value = 1;
        cudaError_t error;
        void *block;

        show("at the start");
        while ((error = cudaMalloc(&block, bytes)) == cudaSuccess) {
                CHECK(cudaMemset(block, (int)blocks.size() & 0xff, bytes));
                blocks.push_back(block);
        }
        printf("%zu blocks, then: %s (%s)\n", blocks.size(), cudaGetErrorString(error),
               cudaGetErrorName(error));
        REQUIRE(cudaPeekAtLastError() == error);
        REQUIRE(cudaGetLastError() == error);
        REQUIRE(cudaGetLastError() == cudaSuccess);
        show("when full");
        for (size_t i = 0; i < blocks.size(); i++) {
                CHECK(cudaMemcpy(&value, (char *)blocks[i] + bytes - 1, 1, cudaMemcpyDeviceToHost));
                REQUIRE(value == (i & 0xff));
                CHECK(cudaFree(blocks[i]));
        }
        show("when all is freed");
        return error == cudaErrorMemoryAllocation ? OUT_OF_MEMORY : FAILED;
}
