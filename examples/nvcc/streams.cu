/* SPDX-License-Identifier: Apache-2.0 */
/*
 * streams: two streams that copy and compute, an event that orders them, a host function.
 *
 * Built a second time with --default-stream per-thread, it works in its thread's own stream.
 */
#include "check.h"

#include <atomic>

__global__ void fill(unsigned *to, unsigned value, unsigned count)
{
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

        if (i < count)
                to[i] = value;
}

static void note(void *done)
{
        *(std::atomic<int> *)done = 1;
}

static const unsigned count = 1 << 18;
static const size_t bytes = count * sizeof(unsigned);

/* Filled in the first stream, copied in the second, which waits for it. */
static void in_order(unsigned *device, unsigned *host, cudaStream_t first, cudaStream_t second)
{
        cudaEvent_t start, filled, stop;
        std::atomic<int> done(0);
        float ms;

        CHECK(cudaEventCreate(&start));
        CHECK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
        CHECK(cudaEventCreate(&stop));
        CHECK(cudaEventRecord(start, first));
        fill<<<count / 256, 256, 0, first>>>(device, 42, count);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(filled, first));
        CHECK(cudaStreamWaitEvent(second, filled, 0));
        CHECK(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, second));
        CHECK(cudaLaunchHostFunc(second, note, &done));
        CHECK(cudaEventRecord(stop, second));
        CHECK(cudaStreamSynchronize(second));
        REQUIRE(done == 1);
        REQUIRE(cudaEventQuery(stop) == cudaSuccess);
        CHECK(cudaEventElapsedTime(&ms, start, stop));
        REQUIRE(ms > 0);
        REQUIRE(host[0] == 42 && host[count - 1] == 42);
        CHECK(cudaEventDestroy(start));
        CHECK(cudaEventDestroy(filled));
        CHECK(cudaEventDestroy(stop));
}

int main()
{
        cudaStream_t first, second;
        unsigned *host, *device;

        CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
        CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
        CHECK(cudaMallocHost(&host, bytes));
        CHECK(cudaMalloc(&device, bytes));
        in_order(device, host, first, second);

        fill<<<count / 256, 256>>>(device, 7, count);
        CHECK(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
        REQUIRE(host[0] == 7 && host[count - 1] == 7);

        CHECK(cudaStreamDestroy(first));
        CHECK(cudaStreamDestroy(second));
        CHECK(cudaFreeHost(host));
        CHECK(cudaFree(device));
        printf("two streams in order, %u elements right\n", count);
        return 0;
}
