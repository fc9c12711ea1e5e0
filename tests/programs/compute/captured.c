/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a synchronous call is told while its own thread captures another stream, and what becomes of
 * the capture.
 *
 *      captured CAP_PPM beside|before CALL...        0: none
 *
 * Captures globally in a stream that the old default one does not wait for, or does. CALL is a copy
 * of copies.h, or a fill. Prints the answers of each, and of the capture's end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "copies.h"
#include "spin.h"
#include "watch.h"

static CUdeviceptr words;
static uint64_t kernel_ns = 1000;
static void *params[1] = { &kernel_ns };
static struct kinds_work work = { .params = params };

#define FILL(name, ...)                                 \
        static CUresult fill_##name(void)               \
        {                                               \
                return name(words, __VA_ARGS__);        \
        }                                               \
        static CUresult fill_##name##_ptds(void)        \
        {                                               \
                return name##_ptds(words, __VA_ARGS__); \
        }
#define NAMED(name)                               \
        { #name, fill_##name },                   \
        {                                         \
#name "_ptds", fill_##name##_ptds \
        }

FILL(cuMemsetD8_v2, 1, 64)
FILL(cuMemsetD16_v2, 1, 64)
FILL(cuMemsetD32_v2, 1, 64)
FILL(cuMemsetD2D8_v2, 16, 1, 4, 4)
FILL(cuMemsetD2D16_v2, 16, 1, 4, 4)
FILL(cuMemsetD2D32_v2, 16, 1, 4, 4)

static const struct {
        const char *name;
        CUresult (*call)(void);
} fills[] = { NAMED(cuMemsetD8_v2),   NAMED(cuMemsetD16_v2),   NAMED(cuMemsetD32_v2),
              NAMED(cuMemsetD2D8_v2), NAMED(cuMemsetD2D16_v2), NAMED(cuMemsetD2D32_v2) };

static CUresult call(const char *name)
{
        kinds_launch *copy = copies_find(name);

        for (unsigned i = 0; i < sizeof(fills) / sizeof(fills[0]); i++) {
                if (strcmp(fills[i].name, name) == 0)
                        return fills[i].call();
        }
        if (!copy)
                exit(2);
        return copy(&work);
}

static void capture(CUstream stream, const char *name)
{
        CUgraph graph = NULL;
        CUresult rc;

        OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        rc = call(name);
        printf("%s %d %d\n", name, rc, cuStreamEndCapture(stream, &graph));
        if (graph)
                OK(cuGraphDestroy(graph));
}

int main(int argc, char **argv)
{
        CUcontext context;
        CUstream stream;
        CUuuid uuid;

        uint32_t cap_ppm = argc > 3 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;

        if (argc < 4)
                return 2;
        OK(cuInit(0));
        OK(cuCtxCreate_v2(&context, 0, 0));
        OK(cuDeviceGetUuid(&uuid, 0));
        work.function = spin_find();
        OK(kinds_prepare(&work, "kernel"));
        copies_prepare(&work, "both");
        OK(cuMemAlloc_v2(&words, 4096));
        OK(cuStreamCreate(&stream, strcmp(argv[2], "beside") == 0 ? CU_STREAM_NON_BLOCKING
                                                                  : CU_STREAM_DEFAULT));
        if (cap_ppm)
                watch_set_cap(&uuid, cap_ppm);
        for (int i = 3; i < argc; i++)
                capture(stream, argv[i]);
        return 0;
}
