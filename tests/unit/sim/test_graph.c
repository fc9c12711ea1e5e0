/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs: built by hand, instantiated, updated, cloned; every kind of node does its work.
 */
#include "exec_stage.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static CUgraph graph;
static CUstream stream;
static CUdeviceptr memory;

static int make_graph(void **state)
{
        ok(cuGraphCreate(&graph, 0));
        ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        ok(cuMemAlloc_v2(&memory, 4096));
        ok(cuMemsetD8_v2(memory, 0, 4096));
        ok(cuCtxSynchronize());
        return 0;
}

static int end_graph(void **state)
{
        ok(cuGraphDestroy(graph));
        ok(cuStreamDestroy_v2(stream));
        ok(cuMemFree_v2(memory));
        return 0;
}

struct fill_params {
        CUdeviceptr to;
        uint32_t value;
        uint64_t count;
        void *pointers[3];
};

static CUDA_KERNEL_NODE_PARAMS fill_node(struct fill_params *fill, uint64_t word, uint32_t value)
{
        fill->to = memory + word * 4;
        fill->value = value;
        fill->count = 1;
        fill->pointers[0] = &fill->to;
        fill->pointers[1] = &fill->value;
        fill->pointers[2] = &fill->count;
        return (CUDA_KERNEL_NODE_PARAMS){ .func = stage.fill,
                                          .gridDimX = 1,
                                          .gridDimY = 1,
                                          .gridDimZ = 1,
                                          .blockDimX = 1,
                                          .blockDimY = 1,
                                          .blockDimZ = 1,
                                          .kernelParams = fill->pointers };
}

static CUgraphNode add_fill(const CUgraphNode *before, size_t count, uint64_t word, uint32_t value)
{
        struct fill_params fill;
        CUDA_KERNEL_NODE_PARAMS params = fill_node(&fill, word, value);
        CUgraphNode node;

        ok(cuGraphAddKernelNode_v2(&node, graph, before, count, &params));
        return node;
}

static void run(CUgraphExec exec)
{
        ok(cuGraphLaunch(exec, stream));
        ok(cuStreamSynchronize(stream));
}

static CUgraphExec instantiate(void)
{
        CUgraphExec exec;

        ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
        return exec;
}

static _Atomic int host_calls;

static void count_call(void *argument)
{
        atomic_fetch_add(&host_calls, *(int *)argument);
}

static void every_kind_of_node_works(void **state)
{
        CUDA_MEMSET_NODE_PARAMS set = { memory + 16, 0, 0x22, 1, 4, 1 };
        CUDA_MEMCPY3D copy = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                               .srcDevice = memory,
                               .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                               .dstDevice = memory + 64,
                               .WidthInBytes = 32,
                               .Height = 1,
                               .Depth = 1 };
        int one = 1;
        CUDA_HOST_NODE_PARAMS host = { count_call, &one };
        CUstreamBatchMemOpParams write = { 0 };
        CUDA_BATCH_MEM_OP_NODE_PARAMS batch = { stage.context, 1, &write, 0 };
        CUgraphNode kernel, memset, memcpy, call, empty, record, wait, ops;
        CUgraphNodeType type;
        CUgraphExec exec;
        CUevent event;

        write.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
        write.writeValue.address = memory + 128;
        write.writeValue.value = 9;
        ok(cuEventCreate(&event, 0));
        kernel = add_fill(NULL, 0, 0, 0x11);
        ok(cuGraphAddMemsetNode(&memset, graph, NULL, 0, &set, stage.context));
        ok(cuGraphAddEmptyNode(&empty, graph, (CUgraphNode[]){ kernel, memset }, 2));
        ok(cuGraphAddMemcpyNode(&memcpy, graph, &empty, 1, &copy, stage.context));
        ok(cuGraphAddHostNode(&call, graph, &memcpy, 1, &host));
        ok(cuGraphAddEventRecordNode(&record, graph, &call, 1, event));
        ok(cuGraphAddEventWaitNode(&wait, graph, &record, 1, event));
        ok(cuGraphAddBatchMemOpNode(&ops, graph, &wait, 1, &batch));
        ok(cuGraphNodeGetType(ops, &type));
        assert_int_equal(type, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
        exec = instantiate();
        run(exec);
        run(exec);
        assert_int_equal(stage_word(memory, 16), 0x11);
        assert_int_equal(stage_word(memory, 20), 0x22222222);
        assert_int_equal(stage_word(memory, 32), 9);
        assert_int_equal(atomic_load(&host_calls), 2);
        ok(cuEventQuery(event));
        ok(cuGraphExecDestroy(exec));
        ok(cuEventDestroy_v2(event));
}

static void edges_are_listed_and_changed(void **state)
{
        CUgraphNode a = add_fill(NULL, 0, 0, 1), b = add_fill(&a, 1, 0, 2),
                    c = add_fill(&b, 1, 0, 3);
        CUgraphNode nodes[4];
        size_t count = 4;

        ok(cuGraphGetNodes(graph, nodes, &count));
        assert_int_equal(count, 3);
        assert_ptr_equal(nodes[1], b);
        assert_null(nodes[3]);
        count = 1;
        ok(cuGraphNodeGetDependencies(c, nodes, &count));
        assert_ptr_equal(nodes[0], b);
        assert_int_equal(cuGraphAddDependencies(graph, &c, &a, 1), CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(cuGraphAddDependencies(graph, &a, &b, 1), CUDA_ERROR_INVALID_VALUE);
        ok(cuGraphAddDependencies(graph, &a, &c, 1));
        ok(cuGraphRemoveDependencies(graph, &b, &c, 1));
        assert_int_equal(cuGraphRemoveDependencies(graph, &b, &c, 1), CUDA_ERROR_INVALID_VALUE);
        ok(cuGraphNodeGetDependentNodes(a, NULL, &count));
        assert_int_equal(count, 2);
        ok(cuGraphDestroyNode(a));
        ok(cuGraphGetRootNodes(graph, NULL, &count));
        assert_int_equal(count, 2);
        assert_int_equal(cuGraphNodeGetType(a, &(CUgraphNodeType){ 0 }), CUDA_ERROR_INVALID_VALUE);
}

static void a_clone_is_its_own(void **state)
{
        CUgraphNode original = add_fill(NULL, 0, 0, 1), copy;
        struct fill_params fill;
        CUDA_KERNEL_NODE_PARAMS params = fill_node(&fill, 0, 5);
        CUgraphExec exec;
        CUgraph clone;

        ok(cuGraphClone(&clone, graph));
        ok(cuGraphNodeFindInClone(&copy, original, clone));
        assert_ptr_not_equal(copy, original);
        ok(cuGraphKernelNodeSetParams_v2(copy, &params));
        exec = instantiate();
        run(exec);
        assert_int_equal(stage_word(memory, 0), 1);
        ok(cuGraphExecDestroy(exec));
        ok(cuGraphInstantiateWithFlags(&exec, clone, 0));
        run(exec);
        assert_int_equal(stage_word(memory, 0), 5);
        ok(cuGraphExecDestroy(exec));
        ok(cuGraphDestroy(clone));
}

static void a_child_graph_is_copied_in(void **state)
{
        CUgraphNode child, inner = add_fill(NULL, 0, 3, 7);
        CUgraph parent, inside;
        CUgraphExec exec;

        (void)inner;
        ok(cuGraphCreate(&parent, 0));
        ok(cuGraphAddChildGraphNode(&child, parent, NULL, 0, graph));
        ok(cuGraphChildGraphNodeGetGraph(child, &inside));
        assert_ptr_not_equal(inside, graph);
        assert_int_equal(cuGraphDestroy(inside), CUDA_ERROR_INVALID_VALUE);
        ok(cuGraphInstantiateWithFlags(&exec, parent, 0));
        ok(cuGraphDestroy(parent));
        run(exec);
        assert_int_equal(stage_word(memory, 3), 7);
        ok(cuGraphExecDestroy(exec));
}

/* A change of the executable graph is for launches after it. */
static void an_executable_graph_can_be_changed(void **state)
{
        CUgraphNode node = add_fill(NULL, 0, 0, 1), other = add_fill(&node, 1, 1, 1);
        struct fill_params fill;
        CUDA_KERNEL_NODE_PARAMS params = fill_node(&fill, 0, 8), seen;
        unsigned is_enabled = 0;
        CUgraphExec exec = instantiate();

        ok(cuGraphExecKernelNodeSetParams_v2(exec, node, &params));
        ok(cuGraphNodeSetEnabled(exec, other, 0));
        ok(cuGraphNodeGetEnabled(exec, other, &is_enabled));
        assert_int_equal(is_enabled, 0);
        run(exec);
        assert_int_equal(stage_word(memory, 0), 8);
        assert_int_equal(stage_word(memory, 1), 0);
        ok(cuGraphKernelNodeGetParams_v2(node, &seen));
        assert_int_equal(*(uint32_t *)seen.kernelParams[1], 1);
        ok(cuGraphNodeSetEnabled(exec, other, 1));
        run(exec);
        assert_int_equal(stage_word(memory, 1), 1);
        ok(cuGraphExecDestroy(exec));
}

static void an_update_needs_the_same_shape(void **state)
{
        CUgraphNode a = add_fill(NULL, 0, 0, 1), b = add_fill(&a, 1, 1, 2);
        CUgraphExecUpdateResultInfo info;
        struct fill_params fill;
        CUDA_KERNEL_NODE_PARAMS params = fill_node(&fill, 0, 30);
        CUgraphExec exec = instantiate();
        CUgraph clone;

        (void)b;
        ok(cuGraphClone(&clone, graph));
        ok(cuGraphKernelNodeSetParams_v2(a, &params));
        ok(cuGraphExecUpdate_v2(exec, graph, &info));
        assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
        run(exec);
        assert_int_equal(stage_word(memory, 0), 30);
        add_fill(NULL, 0, 2, 3);
        assert_int_equal(cuGraphExecUpdate_v2(exec, graph, &info),
                         CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
        assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
        ok(cuGraphExecUpdate_v2(exec, clone, &info));
        run(exec);
        assert_int_equal(stage_word(memory, 0), 1);
        ok(cuGraphExecDestroy(exec));
        ok(cuGraphDestroy(clone));
}

static void an_update_needs_the_same_edges(void **state)
{
        CUgraphNode a = add_fill(NULL, 0, 0, 1), b = add_fill(&a, 1, 1, 2);
        CUgraphExecUpdateResultInfo info;
        CUgraph chain = graph;
        CUgraphExec exec;

        add_fill(&b, 1, 2, 3);
        exec = instantiate();
        /* As many nodes, and as many edges of each. */
        ok(cuGraphCreate(&graph, 0));
        a = add_fill(NULL, 0, 0, 1);
        add_fill(&a, 1, 1, 2);
        add_fill(&a, 1, 2, 3);
        assert_int_equal(cuGraphExecUpdate_v2(exec, graph, &info),
                         CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
        assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
        ok(cuGraphDestroy(graph));
        graph = chain;
        ok(cuGraphExecDestroy(exec));
}

/* Independent nodes overlap: the graph takes as long as its longest path. */
static void parallel_nodes_overlap(void **state)
{
        uint64_t ns = 20000000;
        void *pointers[] = { &ns };
        CUDA_KERNEL_NODE_PARAMS params = { .func = stage.spin,
                                           .gridDimX = 1,
                                           .gridDimY = 1,
                                           .gridDimZ = 1,
                                           .blockDimX = 1,
                                           .blockDimY = 1,
                                           .blockDimZ = 1,
                                           .kernelParams = pointers };
        CUevent start, end;
        CUgraphNode node;
        CUgraphExec exec;
        float ms;

        for (int i = 0; i < 8; i++)
                ok(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params));
        exec = instantiate();
        ok(cuEventCreate(&start, 0));
        ok(cuEventCreate(&end, 0));
        ok(cuEventRecord(start, stream));
        ok(cuGraphLaunch(exec, stream));
        ok(cuEventRecord(end, stream));
        ok(cuEventSynchronize(end));
        ok(cuEventElapsedTime(&ms, start, end));
        assert_true(ms >= 20.0f);
        assert_true(ms < 40.0f); /* 160 if they did not overlap */
        ok(cuGraphExecDestroy(exec));
        ok(cuEventDestroy_v2(start));
        ok(cuEventDestroy_v2(end));
}

static CUDA_MEM_ALLOC_NODE_PARAMS alloc_params(size_t bytes)
{
        CUDA_MEM_ALLOC_NODE_PARAMS params = { .bytesize = bytes };

        params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        params.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        return params;
}

static uint64_t graph_memory(CUgraphMem_attribute attribute)
{
        uint64_t bytes = 0;

        ok(cuDeviceGetGraphMemAttribute(0, attribute, &bytes));
        return bytes;
}

static void memory_nodes_hold_memory_while_they_run(void **state)
{
        CUDA_MEM_ALLOC_NODE_PARAMS params = alloc_params(4 << 20);
        CUgraphNode alloc, release;
        CUgraphExec exec, second;
        CUgraph clone;

        ok(cuGraphAddMemAllocNode(&alloc, graph, NULL, 0, &params));
        assert_true(params.dptr != 0);
        ok(cuGraphAddMemFreeNode(&release, graph, &alloc, 1, params.dptr));
        assert_int_equal(cuGraphAddMemFreeNode(&release, graph, &alloc, 1, params.dptr),
                         CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(graph_memory(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0);
        exec = instantiate();
        assert_int_equal(cuGraphInstantiateWithFlags(&second, graph, 0), CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(cuGraphClone(&clone, graph), CUDA_ERROR_NOT_SUPPORTED);
        run(exec);
        assert_int_equal(graph_memory(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0);
        assert_true(graph_memory(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) >= 4 << 20);
        assert_true(graph_memory(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) >= 4 << 20);
        ok(cuGraphExecDestroy(exec));
        ok(cuDeviceGraphMemTrim(0));
        assert_int_equal(graph_memory(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 0);
}

/* Without a free node the memory outlives the launch, and bars the next one until it is freed. */
static void memory_left_allocated_bars_the_next_launch(void **state)
{
        CUDA_MEM_ALLOC_NODE_PARAMS params = alloc_params(1 << 20);
        CUgraphNode alloc;
        CUgraphExec exec;

        ok(cuGraphAddMemAllocNode(&alloc, graph, NULL, 0, &params));
        exec = instantiate();
        run(exec);
        ok(cuMemsetD32_v2(params.dptr, 1, 16));
        ok(cuCtxSynchronize());
        assert_int_equal(cuGraphLaunch(exec, stream), CUDA_ERROR_INVALID_VALUE);
        ok(cuMemFreeAsync(params.dptr, stream));
        ok(cuStreamSynchronize(stream));
        run(exec);
        ok(cuMemFree_v2(params.dptr));
        ok(cuGraphExecDestroy(exec));
        ok(cuGraphInstantiateWithFlags(&exec, graph,
                                       CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
        run(exec);
        run(exec);
        ok(cuMemFree_v2(params.dptr));
        ok(cuGraphExecDestroy(exec));
}

static void the_general_form_adds_any_node(void **state)
{
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_MEMSET };
        CUgraphNode node;
        CUgraphExec exec;

        params.memset.dst = memory;
        params.memset.value = 0x77777777;
        params.memset.elementSize = 4;
        params.memset.width = 4;
        params.memset.height = 1;
        params.memset.ctx = stage.context;
        ok(cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &params));
        exec = instantiate();
        run(exec);
        assert_int_equal(stage_word(memory, 3), 0x77777777);
        params.memset.value = 5;
        ok(cuGraphExecNodeSetParams(exec, node, &params));
        run(exec);
        assert_int_equal(stage_word(memory, 3), 5);
        params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
        assert_int_equal(cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &params),
                         CUDA_ERROR_NOT_SUPPORTED);
        ok(cuGraphExecDestroy(exec));
}

static void user_objects_live_as_long_as_the_graph(void **state)
{
        CUuserObject object;
        int ten = 10;
        CUgraphExec exec;
        CUgraph own;

        atomic_store(&host_calls, 0);
        ok(cuGraphCreate(&own, 0));
        ok(cuUserObjectCreate(&object, &ten, count_call, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
        ok(cuGraphRetainUserObject(own, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
        ok(cuGraphInstantiateWithFlags(&exec, own, 0));
        ok(cuGraphDestroy(own));
        assert_int_equal(atomic_load(&host_calls), 0);
        ok(cuGraphExecDestroy(exec));
        assert_int_equal(atomic_load(&host_calls), 10);
}

static void a_graph_prints_itself(void **state)
{
        char path[] = "/tmp/aliquot-sim-dot-XXXXXX", text[4096] = "";
        int fd = mkstemp(path);
        CUgraphNode a = add_fill(NULL, 0, 0, 1);

        add_fill(&a, 1, 0, 2);
        ok(cuGraphDebugDotPrint(graph, path, CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE));
        assert_true(read(fd, text, sizeof(text) - 1) > 0);
        assert_non_null(strstr(text, "digraph"));
        assert_non_null(strstr(text, "fill_u32"));
        assert_non_null(strstr(text, "->"));
        close(fd);
        remove(path);
}

#define story(name) cmocka_unit_test_setup_teardown(name, make_graph, end_graph)

int main(void)
{
        const struct CMUnitTest tests[] = {
                story(every_kind_of_node_works),
                story(edges_are_listed_and_changed),
                story(a_clone_is_its_own),
                story(a_child_graph_is_copied_in),
                story(an_executable_graph_can_be_changed),
                story(an_update_needs_the_same_shape),
                story(an_update_needs_the_same_edges),
                story(parallel_nodes_overlap),
                story(memory_nodes_hold_memory_while_they_run),
                story(memory_left_allocated_bars_the_next_launch),
                story(the_general_form_adds_any_node),
                story(user_objects_live_as_long_as_the_graph),
                story(a_graph_prints_itself),
        };

        return cmocka_run_group_tests(tests, stage_open_usual, stage_close);
}
