/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that captures nothing makes a call that is safe beside a global capture, while another
 * thread is at one.
 *
 *      bystander CAP_PPM release|allocate|create|launch       0: none
 *
 * release: one of two retains of the primary context goes, with a kernel under way. allocate: what
 * a pool has is free behind a kernel in the default stream, and asked for in the same stream by its
 * other name, by a thread that has relaxed its mode; the simulated pool then grows, which Aliquot
 * does not expect. create: physical memory, for which a limit has no room but what a pool holds
 * unused. launch: kernels that the cap lets in one after another, from before the capture until
 * after it. Prints what the call and the capture's end answered.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spin.h"
#include "watch.h"

#define KERNEL_NS 20000000
#define BYTES ((size_t)32 << 20)
#define LAUNCHES 60
#define WHILE_US 100000 /* some of these launches */

static CUcontext context;
static CUstream busy, captured;
static CUfunction spin;

static void *release(void *unused)
{
        OK(cuCtxSetCurrent(context));
        return (void *)(uintptr_t)cuDevicePrimaryCtxRelease_v2(0);
}

static void *allocate(void *unused)
{
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        CUdeviceptr again;

        OK(cuCtxSetCurrent(context));
        OK(cuThreadExchangeStreamCaptureMode(&mode));
        return (void *)(uintptr_t)cuMemAllocAsync(&again, BYTES, CU_STREAM_LEGACY);
}

static void *create(void *unused)
{
        CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                     .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
        CUmemGenericAllocationHandle handle;

        OK(cuCtxSetCurrent(context));
        return (void *)(uintptr_t)cuMemCreate(&handle, BYTES, &prop, 0);
}

static void *launch(void *unused)
{
        OK(cuCtxSetCurrent(context));
        for (unsigned i = 0; i < LAUNCHES; i++)
                spin_launch(spin, busy, 1000000);
        return NULL;
}

static void *(*call_of(const char *name))(void *)
{
        if (strcmp(name, "launch") == 0)
                return launch;
        if (strcmp(name, "create") == 0)
                return create;
        return strcmp(name, "release") == 0 ? release : allocate;
}

int main(int argc, char **argv)
{
        uint32_t cap_ppm = argc == 3 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
        void *(*call)(void *) = argc == 3 ? call_of(argv[2]) : NULL;
        CUdeviceptr memory;
        pthread_t thread;
        CUgraph graph;
        CUuuid uuid;
        CUresult ended;
        void *rc;

        if (argc != 3)
                return 2;
        OK(cuInit(0));
        OK(cuDevicePrimaryCtxRetain(&context, 0));
        OK(cuDevicePrimaryCtxRetain(&context, 0));
        OK(cuCtxSetCurrent(context));
        OK(cuDeviceGetUuid(&uuid, 0));
        OK(cuStreamCreate(&busy, CU_STREAM_NON_BLOCKING));
        OK(cuStreamCreate(&captured, CU_STREAM_NON_BLOCKING));
        spin = spin_find();
        if (cap_ppm)
                watch_set_cap(&uuid, cap_ppm);
        if (call == allocate || call == create)
                OK(cuMemAllocAsync(&memory, BYTES, NULL));
        spin_launch(spin, call == allocate ? NULL : busy, KERNEL_NS);
        if (call == allocate || call == create)
                OK(cuMemFreeAsync(memory, NULL));
        if (call == launch) {
                pthread_create(&thread, NULL, call, NULL);
                usleep(WHILE_US);
        }
        OK(cuStreamBeginCapture_v2(captured, CU_STREAM_CAPTURE_MODE_GLOBAL));
        spin_launch(spin, captured, 1000);
        if (call == launch) {
                usleep(WHILE_US);
                ended = cuStreamEndCapture(captured, &graph);
        } else {
                pthread_create(&thread, NULL, call, NULL);
        }
        pthread_join(thread, &rc);
        if (call != launch)
                ended = cuStreamEndCapture(captured, &graph);
        printf("%d %d\n", (int)(uintptr_t)rc, ended);
        return ended == CUDA_SUCCESS ? (int)cuGraphDestroy(graph) : 0;
}
