/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program had of a GPU by the stamps of its kernels: all of it, or it says that it is not.
 * Here a driver that only gives memory, and kernels that leave the stamps that a story says.
 */
#include "load/spin.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/atomic.h"

static struct spin_stamp *ring;
static uint32_t kernels;

int driver_check(CUresult result, const char *call, struct error *err)
{
        return result == CUDA_SUCCESS ? 0 : -EIO;
}

driver_busy *driver_find_busy(void)
{
        return NULL;
}

CUresult cuDeviceGetUuid(CUuuid *ret, CUdevice device)
{
        return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *ret, const void *image)
{
        return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *ret, CUmodule module, const char *name)
{
        return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void **ret, size_t bytes, unsigned flags)
{
        ring = malloc(bytes);
        *ret = ring;
        return ring ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *ret, void *host, unsigned flags)
{
        return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *ret, size_t bytes)
{
        return CUDA_SUCCESS;
}

CUresult cuMemsetD32_v2(CUdeviceptr at, unsigned value, size_t count)
{
        return CUDA_SUCCESS;
}

static void kernel(uint64_t begin_ns, uint64_t end_ns)
{
        struct spin_stamp *stamp = &ring[kernels % SPIN_RING];

        stamp->begin_ns = begin_ns;
        stamp->number = kernels++;
        store_release(&stamp->end_ns, end_ns);
}

/* So many, each of 3 ns, one after the other. */
static void run(uint32_t count)
{
        for (uint32_t i = 0; i < count; i++)
                kernel(10 + 4 * (uint64_t)kernels, 13 + 4 * (uint64_t)kernels);
}

static struct spin spin;

static int begin(void **state)
{
        struct error err;

        kernels = 0;
        return spin_open(&spin, 3, &err);
}

static int end(void **state)
{
        free(ring);
        return 0;
}

static uint64_t look(void)
{
        struct error err;
        uint64_t busy_ns;

        assert_int_equal(spin_busy_ns(&spin, &busy_ns, &err), 0);
        return busy_ns;
}

static void what_overlaps_counts_once(void **state)
{
        assert_int_equal(look(), 0);
        kernel(100, 200);
        kernel(150, 250);
        kernel(160, 180);
        kernel(300, 310);
        assert_int_equal(look(), 160);
}

static void a_ring_that_is_full_is_read_whole_at_each_round(void **state)
{
        for (unsigned round = 1; round <= 3; round++) {
                run(SPIN_RING);
                assert_int_equal(look(), UINT64_C(3) * SPIN_RING * round);
        }
}

/* Rather no answer than one that is short. */
static void stamps_that_were_overrun_are_an_error(void **state)
{
        struct error err;
        uint64_t busy_ns;

        run(10);
        look();
        run(SPIN_RING + 1);
        assert_int_equal(spin_busy_ns(&spin, &busy_ns, &err), -EOVERFLOW);
        assert_non_null(strstr(err.text, "262144"));
}

/* The kernel's text has the ring's size where C has it. */
static void the_kernel_writes_into_this_ring(void **state)
{
        assert_non_null(strstr(spin_ptx, "rem.u32 %at, %number, 262144;"));
        assert_non_null(strstr(spin_ptx, "mul.wide.u32 %place, %at, 24;"));
}

int main(void)
{
#define STORY(name) cmocka_unit_test_setup_teardown(name, begin, end)
        const struct CMUnitTest tests[] = {
                STORY(what_overlaps_counts_once),
                STORY(a_ring_that_is_full_is_read_whole_at_each_round),
                STORY(stamps_that_were_overrun_are_an_error),
                STORY(the_kernel_writes_into_this_ring),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
