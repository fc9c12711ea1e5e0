/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways to device memory where what a driver takes is not what it was asked for; families.c has the
 * plain ones. To be run with grants=real,ptx=noop,fatbin=noop.
 *
 *      accounting [NAME...]    all, or those named
 *
 * prints a line for each look (watch_look()). A wrong answer of the driver ends it with 1.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "watch.h"

#define KIB UINT64_C(1024)
#define MIB (UINT64_C(1) << 20)
#define PTX ".version 8.0\n.target sm_90\n.address_size 64\n"
#define KERNEL ".visible .entry f() { ret; }\n"

static CUuuid uuid;
static CUcontext context;
static const char *family;

static void look(const char *moment)
{
        watch_look(&uuid, family, moment);
}

static CUdeviceptr take(uint64_t bytes)
{
        CUdeviceptr at;

        OK(cuMemAlloc_v2(&at, bytes));
        return at;
}

static void tiny(void)
{
        CUdeviceptr at = take(1);

        look("1 B");
        OK(cuMemFree_v2(at));
        at = take(1 * MIB);
        look("1 MiB");
        OK(cuMemFree_v2(at));
        at = take(1 * MIB + 4 * KIB);
        look("1 MiB and a page");
        OK(cuMemFree_v2(at));
        at = take(3 * MIB);
        look("3 MiB");
        OK(cuMemFree_v2(at));
}

static void many(void)
{
        static CUdeviceptr at[1000];

        for (unsigned i = 0; i < 1000; i++)
                at[i] = take(4 * KIB);
        look("1000 x 4 KiB");
        for (unsigned i = 0; i < 1000; i++) {
                if (i % 500)
                        OK(cuMemFree_v2(at[i]));
        }
        look("two of them left");
        OK(cuMemFree_v2(at[0]));
        OK(cuMemFree_v2(at[500]));
}

static void managed(void)
{
        CUdeviceptr at;

        OK(cuMemAllocManaged(&at, 64 * MIB, CU_MEM_ATTACH_GLOBAL));
        look("untouched");
        OK(cuMemPrefetchAsync(at, 64 * MIB, 0, NULL));
        OK(cuCtxSynchronize());
        look("prefetched");
        OK(cuMemFree_v2(at));
}

static void stack(void)
{
        OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4 * KIB));
        look("4 KiB");
        OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1 * KIB));
}

static void heap(void)
{
        CUmodule module;

        OK(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 64 * MIB));
        look("set");
        OK(cuModuleLoadData(&module,
                            PTX ".extern .func (.param .b64 r) malloc (.param .b64 n);\n" KERNEL));
        look("a module calls malloc");
        OK(cuModuleUnload(module));
}

static void prints(void)
{
        CUmodule module;

        OK(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 16 * MIB));
        look("set");
        OK(cuModuleLoadData(&module,
                            PTX ".extern .func (.param .b32 r) vprintf (.param .b64 f);\n" KERNEL));
        look("a module calls printf");
        OK(cuModuleUnload(module));
}

static void local(void)
{
        CUmodule module;
        CUfunction function;

        OK(cuModuleLoadData(&module, PTX ".visible .entry f()\n{ .local .align 8 .b8 "
                                         "__local_depot0[2048];\n ret; }\n"));
        OK(cuModuleGetFunction(&function, module, "f"));
        look("loaded");
        OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
        OK(cuCtxSynchronize());
        look("launched");
        OK(cuModuleUnload(module));
}

static const char variables[] = PTX ".visible .global .align 4 .b8 table[33554432];\n" KERNEL;

static void module(void)
{
        CUmodule a;

        OK(cuModuleLoadData(&a, variables));
        look("32 MiB of variables");
        OK(cuModuleUnload(a));
}

static void library(void)
{
        CUlibrary a;
        CUkernel kernel;
        CUfunction function;

        OK(cuLibraryLoadData(&a, variables, NULL, NULL, 0, NULL, NULL, 0));
        look("loaded");
        OK(cuLibraryGetKernel(&kernel, a, "f"));
        OK(cuKernelGetFunction(&function, kernel));
        look("used");
        OK(cuLibraryUnload(a));
}

/* One part for each of six architectures, 8 MiB of which are the device's. */
static void fat(void)
{
        static const uint32_t architectures[] = { 70, 75, 80, 86, 90, 100 };
        const uint64_t part = 8 * MIB, head = 72;
        const uint64_t body = 6 * (head + part);
        unsigned char *image = calloc(1, 16 + body), *at = image + 16;
        CUmodule a;

        memcpy(image, &(uint32_t){ 0xba55ed50 }, 4);
        memcpy(image + 4, &(uint16_t){ 1 }, 2);
        memcpy(image + 6, &(uint16_t){ 16 }, 2);
        memcpy(image + 8, &body, 8);
        for (unsigned i = 0; i < 6; i++, at += head + part) {
                memcpy(at, &(uint16_t){ 2 }, 2);
                memcpy(at + 2, &(uint16_t){ 0x101 }, 2);
                memcpy(at + 4, &(uint32_t){ (uint32_t)head }, 4);
                memcpy(at + 8, &part, 8);
                memcpy(at + 28, &architectures[i], 4);
        }
        OK(cuModuleLoadData(&a, image));
        look("loaded");
        OK(cuModuleUnload(a));
        free(image);
}

static void pools(void)
{
        CUdeviceptr at;

        for (unsigned i = 0; i < 2; i++) {
                OK(cuMemAllocAsync(&at, 1, NULL));
                look(i ? "the second growth" : "the first growth");
                OK(cuMemFreeAsync(at, NULL));
                OK(cuCtxSynchronize());
        }
}

static void graphs(void)
{
        CUgraphExec exec;
        CUgraph graph;

        OK(cuGraphCreate(&graph, 0));
        OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
        look("instantiated");
        OK(cuGraphExecDestroy(exec));
        OK(cuGraphDestroy(graph));
}

static void green(void)
{
        CUdevResource whole;
        CUdevResourceDesc parts;
        CUgreenCtx own, other;

        OK(cuDeviceGetDevResource(0, &whole, CU_DEV_RESOURCE_TYPE_SM));
        OK(cuDevResourceGenerateDesc(&parts, &whole, 1));
        OK(cuGreenCtxCreate(&own, parts, 0, CU_GREEN_CTX_DEFAULT_STREAM));
        look("with its primary context");
        OK(cuGreenCtxCreate(&other, parts, 0, CU_GREEN_CTX_DEFAULT_STREAM));
        look("two of them");
        OK(cuGreenCtxDestroy(own));
        OK(cuGreenCtxDestroy(other));
}

static const struct {
        const char *name;
        void (*run)(void);
} families[] = {
        { "tiny", tiny },       { "many", many },     { "managed", managed }, { "stack", stack },
        { "heap", heap },       { "prints", prints }, { "local", local },     { "module", module },
        { "library", library }, { "fat", fat },       { "pools", pools },     { "graphs", graphs },
        { "green", green },
};

static int is_wanted(const char *name, char **names)
{
        if (!*names)
                return 1;
        for (; *names; names++) {
                if (strcmp(*names, name) == 0)
                        return 1;
        }
        return 0;
}

/* Each in a context of its own, so that what one leaves in it does not count for the next. */
int main(int argc, char **argv)
{
        (void)argc;
        family = "start";
        OK(cuInit(0));
        OK(cuDeviceGetUuid_v2(&uuid, 0));
        for (unsigned i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
                family = families[i].name;
                if (!is_wanted(family, argv + 1))
                        continue;
                OK(cuCtxCreate_v2(&context, 0, 0));
                look("context");
                families[i].run();
                look("end");
                OK(cuCtxDestroy_v2(context));
        }
        family = "end";
        look("empty");
        return 0;
}
