/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph: the same work twice: captured from a stream, and built node by node; launched many times.
 */
#include "check.h"

__global__ void add_one(unsigned *data, unsigned count)
{
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

        if (i < count)
                data[i]++;
}

static const unsigned count = 4096, launches = 20;
static const size_t bytes = count * sizeof(unsigned);

static cudaGraph_t captured(unsigned *device, unsigned *host, cudaStream_t stream)
{
        cudaGraph_t graph;

        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        add_one<<<count / 256, 256, 0, stream>>>(device, count);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamEndCapture(stream, &graph));
        return graph;
}

static cudaGraph_t built(unsigned *device, unsigned *host)
{
        unsigned elements = count;
        void *arguments[] = { &device, &elements };
        cudaKernelNodeParams kernel = {}, seen = {};
        cudaGraphNode_t add, copy;
        cudaGraph_t graph;

        kernel.func = (void *)add_one;
        kernel.gridDim = dim3(count / 256);
        kernel.blockDim = dim3(256);
        kernel.kernelParams = arguments;
        CHECK(cudaGraphCreate(&graph, 0));
        CHECK(cudaGraphAddKernelNode(&add, graph, NULL, 0, &kernel));
        CHECK(cudaGraphKernelNodeGetParams(add, &seen));
        REQUIRE(seen.func == kernel.func && seen.gridDim.x == count / 256);
        CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, &add, 1, host, device, bytes,
                                       cudaMemcpyDeviceToHost));
        return graph;
}

static void launch(cudaGraph_t graph, cudaStream_t stream)
{
        cudaGraphExec_t exec;
        size_t nodes = 0;

        CHECK(cudaGraphGetNodes(graph, NULL, &nodes));
        REQUIRE(nodes == 2);
        CHECK(cudaGraphInstantiate(&exec, graph, 0));
        for (unsigned i = 0; i < launches; i++)
                CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaGraphExecDestroy(exec));
        CHECK(cudaGraphDestroy(graph));
}

int main()
{
        unsigned *device, *host;
        cudaStream_t stream;

        CHECK(cudaStreamCreate(&stream));
        CHECK(cudaMalloc(&device, bytes));
        CHECK(cudaMallocHost(&host, bytes));
        CHECK(cudaMemset(device, 0, bytes));
        launch(captured(device, host, stream), stream);
        REQUIRE(host[0] == launches && host[count - 1] == launches);
        launch(built(device, host), stream);
        REQUIRE(host[0] == 2 * launches && host[count - 1] == 2 * launches);
        CHECK(cudaFreeHost(host));
        CHECK(cudaFree(device));
        CHECK(cudaStreamDestroy(stream));
        printf("%u launches of a captured graph and of a built one, results right\n", launches);
        return 0;
}
