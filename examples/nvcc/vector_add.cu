/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vector_add [COUNT]: c = scale * a + b, checked on the host.
 *
 * The plainest program of all: three buffers, a constant, one launch, copies there and back.
 */
#include "check.h"

#include <vector>

__constant__ float scale;

__global__ void scale_add(const float *a, const float *b, float *c, unsigned count)
{
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

        if (i < count)
                c[i] = scale * a[i] + b[i];
}

int main(int argc, char **argv)
{
        unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 1 << 20;
        size_t bytes = count * sizeof(float);
        std::vector<float> a(count), b(count), c(count);
        float *device_a, *device_b, *device_c, three = 3;
        cudaDeviceProp card;

        CHECK(cudaGetDeviceProperties(&card, 0));
        printf("card: %s, %zu MiB, compute capability %d.%d\n", card.name,
               card.totalGlobalMem >> 20, card.major, card.minor);
        for (unsigned i = 0; i < count; i++) {
                a[i] = (float)i;
                b[i] = 1;
        }
        CHECK(cudaMalloc(&device_a, bytes));
        CHECK(cudaMalloc(&device_b, bytes));
        CHECK(cudaMalloc(&device_c, bytes));
        CHECK(cudaMemcpyToSymbol(scale, &three, sizeof(three)));
        CHECK(cudaMemcpy(device_a, a.data(), bytes, cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(device_b, b.data(), bytes, cudaMemcpyHostToDevice));
        scale_add<<<(count + 255) / 256, 256>>>(device_a, device_b, device_c, count);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(c.data(), device_c, bytes, cudaMemcpyDeviceToHost));
        for (unsigned i = 0; i < count; i++)
                REQUIRE(c[i] == 3 * a[i] + 1);
        CHECK(cudaFree(device_a));
        CHECK(cudaFree(device_b));
        CHECK(cudaFree(device_c));
        printf("%u elements, all of them right\n", count);
        return 0;
}
