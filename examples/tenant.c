/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenant: an ordinary CUDA program that knows nothing of Aliquot, for the demo and to try things.
 *
 *      tenant NAME work MIB ROUNDS     holds MIB of device memory and computes in it, ROUNDS times
 *      tenant NAME grow MIB STEPS      takes MIB more a step until it is refused, then the rest
 *
 * It finds the driver as frameworks do, by dlopen("libcuda.so.1"), says which card it sees, and
 * checks what it reads back against what it wrote. Exit: 0 done, 1 a result was wrong or the driver
 * failed, 3 it was out of memory (and said so), 2 called wrong.
 */
#include "abi/cuda.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MIB (1024.0 * 1024.0)
#define MAX_BLOCKS 4096
#define SAMPLE_WORDS 4096u /* the part of a block that is filled and checked */

enum outcome { DONE = 0, FAILED = 1, USAGE = 2, OUT_OF_MEMORY = 3 };

static struct {
        __typeof__(cuInit) *init;
        __typeof__(cuDeviceGet) *device_get;
        __typeof__(cuDeviceGetName) *device_name;
        __typeof__(cuDevicePrimaryCtxRetain) *retain;
        __typeof__(cuCtxSetCurrent) *set_current;
        __typeof__(cuMemGetInfo_v2) *mem_info;
        __typeof__(cuMemAlloc_v2) *alloc;
        __typeof__(cuMemFree_v2) *free;
        __typeof__(cuMemsetD32_v2) *fill;
        __typeof__(cuMemcpyDtoH_v2) *read;
        __typeof__(cuGetErrorName) *error_name;
} driver;

static const char *tenant_name;

static void say(const char *format, ...)
{
        va_list args;

        printf("  [%-6s] ", tenant_name);
        va_start(args, format);
        vprintf(format, args);
        va_end(args);
        putchar('\n');
        fflush(stdout);
}

static enum outcome complain(const char *call, CUresult rc)
{
        const char *name = "unknown error";

        if (driver.error_name)
                driver.error_name(rc, &name);
        say("%s: %s", call, name);
        return rc == CUDA_ERROR_OUT_OF_MEMORY ? OUT_OF_MEMORY : FAILED;
}

static int driver_open(void)
{
        static const struct {
                const char *name;
                void *slot;
        } wanted[] = {
                { "cuInit", &driver.init },
                { "cuDeviceGet", &driver.device_get },
                { "cuDeviceGetName", &driver.device_name },
                { "cuDevicePrimaryCtxRetain", &driver.retain },
                { "cuCtxSetCurrent", &driver.set_current },
                { "cuMemGetInfo_v2", &driver.mem_info },
                { "cuMemAlloc_v2", &driver.alloc },
                { "cuMemFree_v2", &driver.free },
                { "cuMemsetD32_v2", &driver.fill },
                { "cuMemcpyDtoH_v2", &driver.read },
                { "cuGetErrorName", &driver.error_name },
        };
        void *library = dlopen("libcuda.so.1", RTLD_NOW);

        if (!library) {
                say("no CUDA driver: %s", dlerror());
                return -1;
        }
        for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
                void *found = dlsym(library, wanted[i].name);

                if (!found) {
                        say("the driver has no %s", wanted[i].name);
                        return -1;
                }
                memcpy(wanted[i].slot, &found, sizeof(found));
        }
        return 0;
}

static enum outcome card_open(void)
{
        char card[96] = "";
        size_t free_bytes = 0, total_bytes = 0;
        CUdevice device = 0;
        CUcontext context = NULL;
        CUresult rc;

        if ((rc = driver.init(0)))
                return complain("cuInit", rc);
        if ((rc = driver.device_get(&device, 0)))
                return complain("cuDeviceGet", rc);
        if ((rc = driver.device_name(card, sizeof(card), device)))
                return complain("cuDeviceGetName", rc);
        if ((rc = driver.retain(&context, device)) || (rc = driver.set_current(context)))
                return complain("cuDevicePrimaryCtxRetain", rc);
        if ((rc = driver.mem_info(&free_bytes, &total_bytes)))
                return complain("cuMemGetInfo", rc);
        say("my card: %s, %.0f MiB, of which %.0f MiB free", card, (double)total_bytes / MIB,
            (double)free_bytes / MIB);
        return DONE;
}

/* Writes a number all over the sample and reads it back. */
static bool block_is_right(CUdeviceptr block, unsigned value)
{
        static unsigned words[SAMPLE_WORDS];

        if (driver.fill(block, value, SAMPLE_WORDS) || driver.read(words, block, sizeof(words)))
                return false;
        for (unsigned i = 0; i < SAMPLE_WORDS; i++)
                if (words[i] != value)
                        return false;
        return true;
}

static void nap(void)
{
        nanosleep(&(struct timespec){ .tv_nsec = 250000000 }, NULL);
}

static enum outcome work(size_t block_bytes, unsigned rounds)
{
        CUdeviceptr block = 0;
        CUresult rc = driver.alloc(&block, block_bytes);

        if (rc)
                return complain("cuMemAlloc", rc);
        for (unsigned round = 1; round <= rounds; round++) {
                nap();
                if (!block_is_right(block, round))
                        return complain("round", CUDA_ERROR_UNKNOWN);
                say("round %u of %u in %.0f MiB: result right", round, rounds,
                    (double)block_bytes / MIB);
        }
        driver.free(block);
        return DONE;
}

/* What is left of the card, to the byte; then one byte more, which must be refused. */
static enum outcome fill_up(CUdeviceptr *ret)
{
        size_t free_bytes = 0, total_bytes;
        CUdeviceptr one_more = 0;
        CUresult rc = driver.mem_info(&free_bytes, &total_bytes);

        if (rc)
                return complain("cuMemGetInfo", rc);
        /* Nothing is left where a limit was lowered below what is in use; cuMemAlloc of no byte is an
         * error of the caller. */
        rc = free_bytes ? driver.alloc(ret, free_bytes) : CUDA_SUCCESS;
        if (rc)
                return complain("the rest", rc);
        say("takes the rest, %zu bytes; one byte more?", free_bytes);
        rc = driver.alloc(&one_more, 1);
        if (!rc)
                say("got it: that is wrong");
        return rc ? complain("no", rc) : FAILED;
}

static enum outcome grow(size_t block_bytes, unsigned steps)
{
        static CUdeviceptr block[MAX_BLOCKS + 1];
        unsigned held = 0;
        CUresult rc = CUDA_SUCCESS;
        enum outcome outcome;

        for (; held < steps && held < MAX_BLOCKS; held++) {
                nap();
                rc = driver.alloc(&block[held], block_bytes);
                if (rc)
                        break;
                say("holds %.0f MiB", (held + 1) * (double)block_bytes / MIB);
        }
        if (!rc)
                return DONE;
        outcome = complain("one block more", rc);
        if (outcome == OUT_OF_MEMORY)
                outcome = fill_up(&block[held]);
        for (unsigned i = 0; i < held; i++)
                if (!block_is_right(block[i], i))
                        return complain("what it had", CUDA_ERROR_UNKNOWN);
        say("still has its data, all of it right");
        nap();
        nap();
        return outcome;
}

int main(int argc, char **argv)
{
        size_t block_bytes;
        unsigned count;
        enum outcome outcome;

        if (argc != 5) {
                fprintf(stderr, "usage: tenant NAME work|grow MIB COUNT\n");
                return USAGE;
        }
        tenant_name = argv[1];
        block_bytes = strtoull(argv[3], NULL, 10) << 20;
        count = (unsigned)strtoul(argv[4], NULL, 10);
        if (driver_open() < 0)
                return FAILED;
        outcome = card_open();
        if (outcome != DONE)
                return outcome;
        return strcmp(argv[2], "grow") ? work(block_bytes, count) : grow(block_bytes, count);
}
