/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways to device memory that few programs use, one after the other.
 *
 *      rare heap|narrow|external|upload|cards|domain|pointer|handed
 *
 * prints a line for each look at each card: story, moment, card, bytes that the session is charged,
 * bytes that it was granted. The reader compares. A wrong answer of the driver ends it with 1.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "watch.h"

#define MIB (UINT64_C(1) << 20)
#define TOO_MUCH (UINT64_C(300) * MIB)

static const char *story;
static CUcontext context;
static CUuuid uuids[2];
static int cards;

static void look(const char *moment)
{
        for (int i = 0; i < cards; i++)
                printf("%s %s %d %llu %llu\n", story, moment, i,
                       (unsigned long long)watch_charged(&uuids[i]),
                       (unsigned long long)watch_granted_tag(&uuids[i]));
        fflush(stdout);
}

static void begin(void)
{
        OK(cuInit(0));
        OK(cuDeviceGetCount(&cards));
        cards = cards > 2 ? 2 : cards;
        for (int i = 0; i < cards; i++)
                OK(cuDeviceGetUuid_v2(&uuids[i], i));
        OK(cuCtxCreate_v2(&context, 0, 0));
        look("context");
}

static void end(void)
{
        look("end");
        OK(cuCtxDestroy_v2(context));
        look("empty");
}

static void heap(void)
{
        size_t is = 0;

        OK(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 4 * MIB));
        look("smaller than it was");
        OK(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 72 * MIB));
        look("held");
        EXPECT(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, TOO_MUCH), CUDA_ERROR_OUT_OF_MEMORY);
        OK(cuCtxGetLimit(&is, CU_LIMIT_MALLOC_HEAP_SIZE));
        EXPECT(is == 72 * MIB ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN, CUDA_SUCCESS);
        look("refused");
        OK(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 40 * MIB));
        look("less");
        OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
        look("stack");
}

static void narrow(void)
{
        CUDA_ARRAY_DESCRIPTOR_v1 flat = { 333, 77, CU_AD_FORMAT_FLOAT, 2 };
        CUDA_ARRAY3D_DESCRIPTOR_v1 deep = { .Width = 100,
                                            .Height = 50,
                                            .Depth = 30,
                                            .Format = CU_AD_FORMAT_HALF,
                                            .NumChannels = 4 };
        unsigned pitch, left, total;
        CUdeviceptr_v1 a, b, c;
        CUarray d, e;

        OK(cuMemAlloc(&a, 5 * MIB + 3));
        look("plain");
        OK(cuMemAllocPitch(&b, &pitch, 1000, 333, 4));
        look("pitched");
        OK(cuArrayCreate(&d, &flat));
        look("flat");
        OK(cuArray3DCreate(&e, &deep));
        look("deep");
        EXPECT(cuMemAlloc(&c, TOO_MUCH), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT(cuMemAllocPitch(&c, &pitch, 1 << 20, 300, 4), CUDA_ERROR_OUT_OF_MEMORY);
        look("refused");
        OK(cuMemGetInfo(&left, &total));
        printf("%s info 0 %u %u\n", story, left, total);
        OK(cuMemFree(a));
        OK(cuMemFree_v2(b));
        look("freed");
        OK(cuArrayDestroy(d));
        OK(cuMemAlloc(&a, 1 * MIB));
        look("left to the context");
}

static void external(void)
{
        CUDA_EXTERNAL_MEMORY_HANDLE_DESC from = {
                .type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD
        };
        CUDA_EXTERNAL_MEMORY_BUFFER_DESC whole = { .size = 24 * MIB };
        CUexternalMemory a, b;
        CUdeviceptr at;

        from.handle.fd = memfd_create("external", MFD_CLOEXEC);
        from.size = 24 * MIB;
        EXPECT(ftruncate(from.handle.fd, (off_t)TOO_MUCH), 0);
        OK(cuImportExternalMemory(&a, &from));
        look("imported");
        OK(cuExternalMemoryGetMappedBuffer(&at, a, &whole));
        look("mapped");
        from.handle.fd = memfd_create("larger", MFD_CLOEXEC);
        from.size = TOO_MUCH;
        EXPECT(ftruncate(from.handle.fd, (off_t)TOO_MUCH), 0);
        EXPECT(cuImportExternalMemory(&b, &from), CUDA_ERROR_OUT_OF_MEMORY);
        look("refused");
        from.size = 0;
        EXPECT(cuImportExternalMemory(&b, &from), CUDA_ERROR_INVALID_VALUE);
        look("wrong");
        OK(cuMemFree_v2(at));
        look("buffer freed");
        OK(cuDestroyExternalMemory(a));
        look("destroyed");
}

/* A graph that takes and gives `bytes` on the first `count` cards. */
static CUgraph make_graph(uint64_t bytes, int count)
{
        CUgraphNode node, last;
        CUgraph graph;

        OK(cuGraphCreate(&graph, 0));
        for (int i = 0; i < count; i++) {
                CUDA_MEM_ALLOC_NODE_PARAMS params = {
                        .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                       .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE,
                                                     .id = i } },
                        .bytesize = bytes
                };

                OK(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
                OK(cuGraphAddMemFreeNode(&last, graph, &node, 1, params.dptr));
        }
        return graph;
}

static void finish(CUgraphExec exec, CUgraph graph)
{
        OK(cuGraphExecDestroy(exec));
        OK(cuGraphDestroy(graph));
        for (int i = 0; i < cards; i++)
                OK(cuDeviceGraphMemTrim(i));
        look("trimmed");
}

/* Both cards' memory is granted ahead, or nothing is made. */
static void upload(void)
{
        CUDA_GRAPH_INSTANTIATE_PARAMS params = { .flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD };
        CUgraph graph = make_graph(40 * MIB, cards), large = make_graph(TOO_MUCH, cards);
        CUgraphExec exec;

        OK(cuStreamCreate(&params.hUploadStream, CU_STREAM_NON_BLOCKING));
        EXPECT(cuGraphInstantiateWithParams(&exec, large, &params), CUDA_ERROR_OUT_OF_MEMORY);
        look("refused");
        EXPECT(cuGraphInstantiateWithParams(&exec, graph, NULL), CUDA_ERROR_INVALID_VALUE);
        look("wrong");
        OK(cuGraphInstantiateWithParams(&exec, graph, &params));
        look("uploaded");
        OK(cuGraphLaunch(exec, params.hUploadStream));
        OK(cuStreamSynchronize(params.hUploadStream));
        look("ran");
        OK(cuGraphUpload(exec, params.hUploadStream));
        look("uploaded again");
        OK(cuStreamSynchronize(params.hUploadStream));
        OK(cuGraphDestroy(large));
        finish(exec, graph);
        OK(cuStreamDestroy_v2(params.hUploadStream));
}

static void cards_graph(void)
{
        CUgraph graph = make_graph(70 * MIB, cards);
        CUgraphExec exec;
        CUdeviceptr a;

        OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
        OK(cuMemAlloc_v2(&a, 200 * MIB));
        EXPECT(cuGraphLaunch(exec, NULL), CUDA_ERROR_OUT_OF_MEMORY);
        look("refused by the first");
        OK(cuMemFree_v2(a));
        for (unsigned i = 0; i < 3; i++)
                OK(cuGraphLaunch(exec, NULL));
        look("launched");
        OK(cuStreamSynchronize(NULL));
        look("ran");
        OK(cuGraphLaunch(exec, NULL));
        OK(cuCtxSynchronize());
        look("ran again");
        finish(exec, graph);
}

/* Memory of a locality domain, which is a part of a card: here of the last one. */
static CUmemLocation domain_of_last(void)
{
        return (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN,
                                .localized = { .deviceId = (unsigned char)(cards - 1) } };
}

static void domain_blocks(void)
{
        CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                     .location = domain_of_last() };
        CUmemGenericAllocationHandle handle;

        EXPECT(cuMemCreate(&handle, TOO_MUCH, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
        look("no block");
        OK(cuMemCreate(&handle, 24 * MIB, &prop, 0));
        look("block");
        OK(cuMemRelease(handle));
        look("block released");
}

static void domain_pool(void)
{
        CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = domain_of_last() };
        CUmemAccessDesc here = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
                                 .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
        CUmemoryPool pool;
        CUdeviceptr at;

        OK(cuMemPoolCreate(&pool, &props));
        OK(cuMemPoolSetAccess(pool, &here, 1));
        OK(cuMemAllocFromPoolAsync(&at, 64 * MIB, pool, NULL));
        OK(cuStreamSynchronize(NULL));
        look("pool");
        OK(cuMemFreeAsync(at, NULL));
        OK(cuStreamSynchronize(NULL));
        OK(cuMemPoolDestroy(pool));
        look("pool gone");
}

static CUgraph domain_graph(uint64_t bytes)
{
        CUgraphNodeParams take = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC };
        CUgraphNodeParams give = { .type = CU_GRAPH_NODE_TYPE_MEM_FREE };
        CUgraphNode node, last;
        CUgraph graph;

        take.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        take.alloc.poolProps.location = domain_of_last();
        take.alloc.bytesize = bytes;
        OK(cuGraphCreate(&graph, 0));
        OK(cuGraphAddNode_v3(&node, graph, NULL, NULL, 0, &take));
        give.free.dptr = take.alloc.dptr;
        OK(cuGraphAddNode_v3(&last, graph, &node, NULL, 1, &give));
        return graph;
}

static void domain(void)
{
        CUgraph graph = domain_graph(70 * MIB), large = domain_graph(TOO_MUCH);
        CUgraphExec exec;

        domain_blocks();
        domain_pool();
        OK(cuGraphInstantiateWithFlags(&exec, large, 0));
        EXPECT(cuGraphLaunch(exec, NULL), CUDA_ERROR_OUT_OF_MEMORY);
        OK(cuGraphExecDestroy(exec));
        OK(cuGraphDestroy(large));
        look("no graph");
        OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
        OK(cuGraphLaunch(exec, NULL));
        OK(cuStreamSynchronize(NULL));
        look("ran");
        finish(exec, graph);
}

/* -- a pool's pointer in two processes -----------------------------------------------------------
 */

static void send_all(int link, int fd, const void *data, size_t bytes)
{
        char room[CMSG_SPACE(sizeof(int))] = { 0 };
        struct iovec part = { (void *)(uintptr_t)data, bytes };
        struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
        struct cmsghdr *head;

        if (fd >= 0) {
                message.msg_control = room;
                message.msg_controllen = sizeof(room);
                head = CMSG_FIRSTHDR(&message);
                head->cmsg_level = SOL_SOCKET;
                head->cmsg_type = SCM_RIGHTS;
                head->cmsg_len = CMSG_LEN(sizeof(int));
                memcpy(CMSG_DATA(head), &fd, sizeof(fd));
        }
        EXPECT(sendmsg(link, &message, 0) == (ssize_t)bytes, 1);
}

static int receive_all(int link, void *data, size_t bytes)
{
        char room[CMSG_SPACE(sizeof(int))];
        struct iovec part = { data, bytes };
        struct msghdr message = { .msg_iov = &part,
                                  .msg_iovlen = 1,
                                  .msg_control = room,
                                  .msg_controllen = sizeof(room) };
        int fd = -1;

        EXPECT(recvmsg(link, &message, MSG_WAITALL) == (ssize_t)bytes, 1);
        if (message.msg_controllen)
                memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
        return fd;
}

static void wait_for(int link)
{
        char byte;

        receive_all(link, &byte, 1);
}

/* Waits, begins, tells; imports, tells; and so on, so that nothing moves while the other looks. */
static int importer(int link)
{
        CUmemPoolPtrExportData data;
        CUmemoryPool pool;
        CUdeviceptr at;
        int fd;

        story = "importer";
        wait_for(link);
        OK(cuInit(0));
        OK(cuCtxCreate_v2(&context, 0, 0));
        send_all(link, -1, "c", 1);
        fd = receive_all(link, &data, sizeof(data));
        OK(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)fd,
                                              CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
        OK(cuMemPoolImportPointer(&at, pool, &data));
        send_all(link, -1, "i", 1);
        wait_for(link);
        OK(cuMemFree_v2(at));
        OK(cuMemPoolDestroy(pool));
        send_all(link, -1, "f", 1);
        wait_for(link);
        OK(cuCtxDestroy_v2(context));
        send_all(link, -1, "e", 1);
        return 0;
}

static void exporter(int link)
{
        CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                 .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
        CUmemPoolPtrExportData data;
        CUmemoryPool pool;
        CUdeviceptr at;
        int fd;

        send_all(link, -1, "b", 1);
        wait_for(link);
        look("both contexts");
        OK(cuMemPoolCreate(&pool, &props));
        OK(cuMemAllocFromPoolAsync(&at, 24 * MIB, pool, NULL));
        OK(cuStreamSynchronize(NULL));
        look("held");
        OK(cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                            0));
        OK(cuMemPoolExportPointer(&data, at));
        send_all(link, fd, &data, sizeof(data));
        wait_for(link);
        look("imported");
        send_all(link, -1, "g", 1);
        wait_for(link);
        look("import freed");
        OK(cuMemFree_v2(at));
        OK(cuMemPoolDestroy(pool));
        look("freed");
        send_all(link, -1, "g", 1);
        wait_for(link);
}

/* -- a descriptor in two processes, whose owner lets it go first ----------------------------------
 */

static int receiver(int link)
{
        CUmemGenericAllocationHandle handle;
        CUdeviceptr at;
        char byte;
        int fd;

        story = "receiver";
        wait_for(link);
        OK(cuInit(0));
        OK(cuCtxCreate_v2(&context, 0, 0));
        send_all(link, -1, "c", 1);
        fd = receive_all(link, &byte, 1);
        OK(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd,
                                          CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
        send_all(link, -1, "i", 1);
        wait_for(link);
        OK(cuMemAddressReserve(&at, 100 * MIB, 0, 0, 0));
        OK(cuMemMap(at, 100 * MIB, 0, handle, 0));
        OK(cuMemRelease(handle));
        send_all(link, -1, "m", 1);
        wait_for(link);
        OK(cuMemUnmap(at, 100 * MIB));
        send_all(link, -1, "u", 1);
        wait_for(link);
        OK(cuCtxDestroy_v2(context));
        send_all(link, -1, "e", 1);
        return 0;
}

static void next(int link)
{
        send_all(link, -1, "g", 1);
        wait_for(link);
}

static void giver(int link)
{
        CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                     .requestedHandleTypes =
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                     .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
        CUmemGenericAllocationHandle handle;
        size_t left, total;
        int fd;

        next(link);
        OK(cuMemCreate(&handle, 100 * MIB, &prop, 0));
        OK(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
        send_all(link, fd, "f", 1);
        wait_for(link);
        close(fd);
        look("held");
        OK(cuMemRelease(handle));
        look("released");
        next(link);
        look("mapped");
        next(link);
        OK(cuMemGetInfo_v2(&left, &total));
        look("let go");
        next(link);
}

static int two_sides(int (*child)(int), void (*parent)(int))
{
        int link[2], status;
        pid_t pid;

        EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, link), 0);
        pid = fork();
        if (pid == 0)
                _exit(child(link[1]));
        begin();
        parent(link[0]);
        EXPECT(waitpid(pid, &status, 0) == pid && status == 0, 1);
        end();
        return 0;
}

int main(int argc, char **argv)
{
        static const struct {
                const char *name;
                void (*run)(void);
        } stories[] = {
                { "heap", heap },     { "narrow", narrow },     { "external", external },
                { "upload", upload }, { "cards", cards_graph }, { "domain", domain },
        };

        story = argc > 1 ? argv[1] : "";
        if (strcmp(story, "pointer") == 0)
                return two_sides(importer, exporter);
        if (strcmp(story, "handed") == 0)
                return two_sides(receiver, giver);
        begin();
        for (unsigned i = 0; i < sizeof(stories) / sizeof(stories[0]); i++)
                if (strcmp(story, stories[i].name) == 0)
                        stories[i].run();
        end();
        return 0;
}
