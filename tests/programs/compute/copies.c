/* SPDX-License-Identifier: Apache-2.0 */
#include "copies.h"

#include <string.h>

#include "watch.h"

#define BYTES 200000u
#define ROW 2000u
#define ROWS (BYTES / ROW)
#define NODES 10u
#define BATCH_COPIES 100u

static void *host;
static CUdeviceptr from, to, peer;
static CUarray array_from, array_to;
static CUcontext here, there; /* `to` is the other one's */
static CUgraphExec graph;

/* What is said of an address of the device. */
static CUmemorytype type_of(const struct kinds_work *work)
{
        static const CUmemorytype types[] = { CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_UNIFIED,
                                              CU_MEMORYTYPE_HOST };

        return types[work->launches % 3];
}

static void *as_host(CUdeviceptr address)
{
        return (void *)(uintptr_t)address;
}

static CUDA_MEMCPY2D flat(const struct kinds_work *work)
{
        return (CUDA_MEMCPY2D){ .srcMemoryType = type_of(work),
                                .srcDevice = from,
                                .srcHost = as_host(from),
                                .srcPitch = ROW,
                                .dstMemoryType = type_of(work),
                                .dstDevice = to,
                                .dstHost = as_host(to),
                                .dstPitch = ROW,
                                .WidthInBytes = ROW,
                                .Height = ROWS };
}

static CUDA_MEMCPY3D solid(const struct kinds_work *work)
{
        return (CUDA_MEMCPY3D){ .srcMemoryType = type_of(work),
                                .srcDevice = from,
                                .srcHost = as_host(from),
                                .srcPitch = ROW,
                                .srcHeight = ROWS / 10,
                                .dstMemoryType = type_of(work),
                                .dstDevice = to,
                                .dstHost = as_host(to),
                                .dstPitch = ROW,
                                .dstHeight = ROWS / 10,
                                .WidthInBytes = ROW,
                                .Height = ROWS / 10,
                                .Depth = 10 };
}

static CUDA_MEMCPY3D_PEER solid_peer(const struct kinds_work *work)
{
        return (CUDA_MEMCPY3D_PEER){ .srcMemoryType = type_of(work),
                                     .srcDevice = from,
                                     .srcHost = as_host(from),
                                     .srcPitch = BYTES,
                                     .srcContext = here,
                                     .dstMemoryType = type_of(work),
                                     .dstDevice = to,
                                     .dstHost = as_host(to),
                                     .dstPitch = BYTES,
                                     .dstContext = there,
                                     .WidthInBytes = BYTES,
                                     .Height = 1,
                                     .Depth = 1 };
}

static CUDA_MEMCPY3D_BATCH_OP told(CUdeviceptr to_address, CUdeviceptr from_address)
{
        CUDA_MEMCPY3D_BATCH_OP op = { .src = { .type = CU_MEMCPY_OPERAND_TYPE_POINTER },
                                      .dst = { .type = CU_MEMCPY_OPERAND_TYPE_POINTER },
                                      .extent = { BYTES, 1, 1 },
                                      .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };

        op.src.op.ptr.ptr = from_address;
        op.dst.op.ptr.ptr = to_address;
        return op;
}

static CUmemcpyAttributes how = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };

/* -- Within the device, by each call ---------------------------------------------------------- */

/* A call, and its twin of the per-thread default stream. */
#define CALL(name, prepared, ...)                            \
        static CUresult call_##name(struct kinds_work *work) \
        {                                                    \
                CUstream stream = work->stream[0];           \
                prepared;                                    \
                (void)stream;                                \
                return name(__VA_ARGS__);                    \
        }
#define CALLS(name, twin, prepared, ...) \
        CALL(name, prepared, __VA_ARGS__) CALL(name##twin, prepared, __VA_ARGS__)

#define NOTHING (void)0
#define FLAT CUDA_MEMCPY2D box = flat(work)
#define SOLID CUDA_MEMCPY3D box = solid(work)
#define PEER CUDA_MEMCPY3D_PEER box = solid_peer(work)
#define TOLD CUDA_MEMCPY3D_BATCH_OP op = told(to, from)
#define BATCH                 \
        size_t bytes = BYTES; \
        size_t first = 0
/* Of a first version, which tells which one failed. */
#define BATCH_OLD \
        BATCH;    \
        size_t failed
#define TOLD_OLD \
        TOLD;    \
        size_t failed

/* A name, the end of its twin's, what it needs, and with what it is called. */
#define EACH(X)                                                                                  \
        X(cuMemcpy, _ptds, NOTHING, to, from, BYTES)                                             \
        X(cuMemcpyAsync, _ptsz, NOTHING, to, from, BYTES, stream)                                \
        X(cuMemcpyDtoD_v2, _ptds, NOTHING, to, from, BYTES)                                      \
        X(cuMemcpyDtoDAsync_v2, _ptsz, NOTHING, to, from, BYTES, stream)                         \
        X(cuMemcpyHtoD_v2, _ptds, NOTHING, to, as_host(from), BYTES)                             \
        X(cuMemcpyHtoDAsync_v2, _ptsz, NOTHING, to, as_host(from), BYTES, stream)                \
        X(cuMemcpyDtoH_v2, _ptds, NOTHING, as_host(to), from, BYTES)                             \
        X(cuMemcpyDtoHAsync_v2, _ptsz, NOTHING, as_host(to), from, BYTES, stream)                \
        X(cuMemcpyHtoA_v2, _ptds, NOTHING, array_to, 0, as_host(from), BYTES)                    \
        X(cuMemcpyHtoAAsync_v2, _ptsz, NOTHING, array_to, 0, as_host(from), BYTES, stream)       \
        X(cuMemcpyAtoH_v2, _ptds, NOTHING, as_host(to), array_from, 0, BYTES)                    \
        X(cuMemcpyAtoHAsync_v2, _ptsz, NOTHING, as_host(to), array_from, 0, BYTES, stream)       \
        X(cuMemcpyDtoA_v2, _ptds, NOTHING, array_to, 0, from, BYTES)                             \
        X(cuMemcpyAtoD_v2, _ptds, NOTHING, to, array_from, 0, BYTES)                             \
        X(cuMemcpyAtoA_v2, _ptds, NOTHING, array_to, 0, array_from, 0, BYTES)                    \
        X(cuMemcpy2D_v2, _ptds, FLAT, &box)                                                      \
        X(cuMemcpy2DUnaligned_v2, _ptds, FLAT, &box)                                             \
        X(cuMemcpy2DAsync_v2, _ptsz, FLAT, &box, stream)                                         \
        X(cuMemcpy3D_v2, _ptds, SOLID, &box)                                                     \
        X(cuMemcpy3DAsync_v2, _ptsz, SOLID, &box, stream)                                        \
        X(cuMemcpyPeer, _ptds, NOTHING, to, there, from, here, BYTES)                            \
        X(cuMemcpyPeerAsync, _ptsz, NOTHING, to, there, from, here, BYTES, stream)               \
        X(cuMemcpy3DPeer, _ptds, PEER, &box)                                                     \
        X(cuMemcpy3DPeerAsync, _ptsz, PEER, &box, stream)                                        \
        X(cuMemcpyBatchAsync, _ptsz, BATCH_OLD, &to, &from, &bytes, 1, &how, &first, 1, &failed, \
          stream)                                                                                \
        X(cuMemcpyBatchAsync_v2, _ptsz, BATCH, &to, &from, &bytes, 1, &how, &first, 1, stream)   \
        X(cuMemcpy3DBatchAsync, _ptsz, TOLD_OLD, 1, &op, &failed, 0, stream)                     \
        X(cuMemcpy3DBatchAsync_v2, _ptsz, TOLD, 1, &op, 0, stream)                               \
        X(cuMemcpyWithAttributesAsync, _ptsz, NOTHING, to, from, BYTES, &how, stream)            \
        X(cuMemcpy3DWithAttributesAsync, _ptsz, TOLD, &op, 0, stream)

EACH(CALLS)

/* -- And more --------------------------------------------------------------------------------- */

static CUresult launch_copies(struct kinds_work *work)
{
        return cuGraphLaunch(graph, work->stream[0]);
}

static CUresult launch_both(struct kinds_work *work)
{
        return work->launches % 2 ? kinds_find("kernel")(work) : call_cuMemcpyAsync(work);
}

static CUresult launch_batch(struct kinds_work *work)
{
        static CUdeviceptr tos[BATCH_COPIES], froms[BATCH_COPIES];
        static size_t sizes[BATCH_COPIES];
        size_t first = 0;

        for (unsigned i = 0; i < BATCH_COPIES; i++) {
                tos[i] = to;
                froms[i] = from;
                sizes[i] = BYTES;
        }
        return cuMemcpyBatchAsync_v2(tos, froms, sizes, BATCH_COPIES, &how, &first, 1,
                                     work->stream[0]);
}

static CUresult kernel_after(CUresult rc, struct kinds_work *work)
{
        return rc == CUDA_SUCCESS ? kinds_find("kernel")(work) : rc;
}

static CUresult launch_copied(struct kinds_work *work)
{
        return kernel_after(cuMemcpyWithAttributesAsync(to, (CUdeviceptr)(uintptr_t)host, BYTES,
                                                        &how, work->stream[0]),
                            work);
}

static CUresult launch_copied_box(struct kinds_work *work)
{
        CUDA_MEMCPY3D_BATCH_OP op = told(to, (CUdeviceptr)(uintptr_t)host);

        return kernel_after(cuMemcpy3DWithAttributesAsync(&op, 0, work->stream[0]), work);
}

static CUresult launch_copied_peer(struct kinds_work *work)
{
        return kernel_after(cuMemcpyAsync(peer, from, BYTES, work->stream[0]), work);
}

static CUresult launch_copied_between(struct kinds_work *work)
{
        return kernel_after(cuMemcpyDtoDAsync_v2(peer, from, BYTES, work->stream[0]), work);
}

static CUresult launch_copied_box_between(struct kinds_work *work)
{
        CUDA_MEMCPY2D box = flat(work);

        box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
        box.dstDevice = peer;
        return kernel_after(cuMemcpy2DAsync_v2(&box, work->stream[0]), work);
}

/* An array's context means nothing, so nobody may look at it. */
#define NO_CONTEXT ((CUcontext)(uintptr_t)0x10)

static CUresult launch_peer_array(struct kinds_work *work)
{
        CUDA_MEMCPY3D_PEER box = solid_peer(work);

        box.dstMemoryType = CU_MEMORYTYPE_ARRAY;
        box.dstArray = array_to;
        box.dstContext = work->launches % 2 ? NULL : NO_CONTEXT;
        return cuMemcpy3DPeerAsync(&box, work->stream[0]);
}

static CUresult launch_peer_arrays(struct kinds_work *work)
{
        CUDA_MEMCPY3D_PEER box = solid_peer(work);

        box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_ARRAY;
        box.srcArray = array_from;
        box.dstArray = array_to;
        box.srcContext = NO_CONTEXT;
        box.dstContext = NULL;
        return cuMemcpy3DPeerAsync(&box, work->stream[0]);
}

#define NAMED(name)                \
        {                          \
#name, call_##name \
        }
#define BOTH(name, twin, ...) NAMED(name), NAMED(name##twin),

static const struct {
        const char *name;
        kinds_launch *launch;
} calls[] = { { "copies", launch_copies },
              { "batch", launch_batch },
              { "both", launch_both },
              { "copied", launch_copied },
              { "copied-3d", launch_copied_box },
              { "copied-peer", launch_copied_peer },
              { "copied-between", launch_copied_between },
              { "copied-2d-between", launch_copied_box_between },
              { "peer-array", launch_peer_array },
              { "peer-arrays", launch_peer_arrays },
              EACH(BOTH) };

kinds_launch *copies_find(const char *name)
{
        for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
                if (strcmp(calls[i].name, name) == 0)
                        return calls[i].launch;
        }
        return NULL;
}

static void make_graph(struct kinds_work *work)
{
        CUgraph captured;

        OK(cuStreamBeginCapture_v2(work->stream[0], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        for (unsigned i = 0; i < NODES; i++)
                OK(call_cuMemcpyAsync(work));
        OK(cuStreamEndCapture(work->stream[0], &captured));
        OK(cuGraphInstantiateWithFlags(&graph, captured, 0));
}

static void make_peer(void)
{
        CUcontext context;
        int devices;

        OK(cuDeviceGetCount(&devices));
        if (devices < 2)
                return;
        OK(cuCtxCreate_v2(&context, 0, 1));
        OK(cuMemAlloc_v2(&peer, BYTES));
        OK(cuCtxSetCurrent(here));
}

void copies_prepare(struct kinds_work *work, const char *name)
{
        CUDA_ARRAY_DESCRIPTOR words = { .Width = BYTES / 4,
                                        .Format = CU_AD_FORMAT_UNSIGNED_INT32,
                                        .NumChannels = 1 };

        if (!copies_find(name))
                return;
        OK(cuCtxGetCurrent(&here));
        OK(cuMemHostAlloc(&host, BYTES, 0));
        OK(cuMemAlloc_v2(&from, BYTES));
        OK(cuArrayCreate_v2(&array_from, &words));
        OK(cuArrayCreate_v2(&array_to, &words));
        OK(cuCtxCreate_v2(&there, 0, 0));
        OK(cuMemAlloc_v2(&to, BYTES));
        OK(cuCtxSetCurrent(here));
        make_peer();
        make_graph(work);
}
