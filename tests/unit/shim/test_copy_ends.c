/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which copies stay within a device, whatever the call says of their ends and the driver of their
 * addresses. The driver is played here: addresses below 100 are its devices', by tens.
 */
#include "shim/cuda/driver/real.h"
#include "shim/cuda/place/copy_ends.h"
#include "shim/cuda/place/front.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#define DEVICES_END 100u
#define HOST 200u    /* pinned */
#define NOWHERE 300u /* the driver knows nothing of it */
#define DEVICE(n) ((CUdeviceptr)(10u * (n) + 1u))

static unsigned asked;
static int devices; /* asked until there are some */
static CUresult answer;

static CUresult get_attributes(unsigned count, CUpointer_attribute *which, void **ret,
                               CUdeviceptr address)
{
        CUmemorytype type = address < DEVICES_END ? CU_MEMORYTYPE_DEVICE
                            : address == HOST     ? CU_MEMORYTYPE_HOST
                                                  : 0;
        int device = address < DEVICES_END ? (int)(address / 10) : 0;

        asked++;
        assert_int_equal(count, 2);
        assert_int_equal(which[0], CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
        assert_int_equal(which[1], CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
        memcpy(ret[0], &type, sizeof(type));
        memcpy(ret[1], &device, sizeof(device));
        return answer;
}

static CUresult get_count(int *ret)
{
        *ret = devices;
        return devices ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

struct real real = { .cuPointerGetAttributes = get_attributes, .cuDeviceGetCount = get_count };

/* A context's handle is its device's number, and one more. */
struct place place_of_context(CUcontext context)
{
        return (struct place){ .device = (CUdevice)(uintptr_t)context - 1 };
}

static bool is_within(CUmemorytype to, CUmemorytype from)
{
        return copy_is_within((struct copy_end){ .type = to }, (struct copy_end){ .type = from });
}

static bool are_within(CUdeviceptr to, CUdeviceptr from)
{
        return copy_is_within(copy_unified(to), copy_unified(from));
}

static void while_no_two_are_seen_nobody_asks_which(void **unused)
{
        (void)unused;
        asked = 0;
        assert_true(is_within(CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE));
        assert_true(is_within(CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_DEVICE));
        assert_true(is_within(CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_ARRAY));
        assert_int_equal(asked, 0);
        assert_false(is_within(0, 0));
        assert_false(is_within((CUmemorytype)77, CU_MEMORYTYPE_DEVICE));
        assert_int_equal(asked, 0);
}

static void who_sees_several_says_device_of_either(void **unused)
{
        (void)unused;
        devices = 2;
        assert_true(copy_is_within(copy_on_device(DEVICE(1)), copy_on_device(DEVICE(1))));
        assert_false(copy_is_within(copy_on_device(DEVICE(0)), copy_on_device(DEVICE(1))));
        assert_false(copy_is_within(copy_on_device(DEVICE(0)), copy_on_device(HOST)));
        assert_true(copy_is_within(copy_in_array(), copy_on_device(DEVICE(1))));
}

static void what_is_said_to_be_the_host_s_is_asked(void **unused)
{
        const void *of_device = (const void *)(uintptr_t)DEVICE(0);
        const void *of_host = (const void *)(uintptr_t)HOST;
        CUDA_MEMCPY2D box = { .srcMemoryType = CU_MEMORYTYPE_HOST,
                              .srcHost = of_device,
                              .srcDevice = NOWHERE,
                              .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                              .dstHost = (void *)(uintptr_t)NOWHERE,
                              .dstDevice = DEVICE(0) };

        (void)unused;
        assert_true(copy_is_within(copy_on_device(DEVICE(0)), copy_on_host(of_device)));
        assert_true(copy_is_within(copy_on_host(of_device), copy_in_array()));
        assert_false(copy_is_within(copy_on_device(DEVICE(0)), copy_on_host(of_host)));
        assert_false(copy_is_within(copy_on_host(of_host), copy_in_array()));
        assert_true(copy_is_within(copy_end_of(&box, dst), copy_end_of(&box, src)));
        box.srcHost = of_host;
        assert_false(copy_is_within(copy_end_of(&box, dst), copy_end_of(&box, src)));
}

static void what_it_does_not_say_the_driver_knows(void **unused)
{
        (void)unused;
        assert_true(are_within(DEVICE(0), DEVICE(0)));
        assert_true(are_within(DEVICE(3), DEVICE(3)));
        assert_false(are_within(DEVICE(0), DEVICE(1)));
        assert_false(are_within(DEVICE(0), HOST));
        assert_false(are_within(NOWHERE, DEVICE(0)));
        assert_false(are_within(NOWHERE, HOST));
        assert_true(copy_is_within(copy_unified(DEVICE(2)),
                                   (struct copy_end){ .type = CU_MEMORYTYPE_ARRAY }));
        asked = 0;
        assert_false(are_within(HOST, DEVICE(0)));
        assert_int_equal(asked, 1); /* one end is enough */
}

static void who_is_told_nothing_takes_it_for_the_host_s(void **unused)
{
        (void)unused;
        answer = CUDA_ERROR_NOT_INITIALIZED;
        assert_false(are_within(DEVICE(0), DEVICE(0)));
        answer = CUDA_SUCCESS;
}

static void one_copy_within_the_device_makes_a_batch_one(void **unused)
{
        CUdeviceptr to[] = { DEVICE(0), DEVICE(0), DEVICE(1) }, from[] = { HOST, DEVICE(1), HOST };
        CUDA_MEMCPY3D_BATCH_OP boxes[2] = { { .src = { .type = CU_MEMCPY_OPERAND_TYPE_POINTER },
                                              .dst = { .type = CU_MEMCPY_OPERAND_TYPE_ARRAY } },
                                            { .src = { .type = CU_MEMCPY_OPERAND_TYPE_ARRAY },
                                              .dst = { .type = CU_MEMCPY_OPERAND_TYPE_ARRAY } } };

        (void)unused;
        boxes[0].src.op.ptr.ptr = HOST;
        assert_false(copy_any_is_within(to, from, 3));
        from[2] = DEVICE(1);
        assert_true(copy_any_is_within(to, from, 3));
        assert_false(copy_any_is_within(to, from, 2));
        assert_false(copy_any_is_within(NULL, from, 3));
        assert_false(copy_any_is_within(to, NULL, 3));
        assert_false(copy_any_box_is_within(boxes, 1));
        assert_true(copy_any_box_is_within(boxes, 2));
        assert_false(copy_any_box_is_within(NULL, 2));
}

static void contexts_of_one_device_are_no_peers(void **unused)
{
        CUcontext first = (CUcontext)(uintptr_t)1, second = (CUcontext)(uintptr_t)2;

        (void)unused;
        assert_true(copy_is_of_one_device(first, first));
        assert_true(copy_is_of_one_device(NULL, NULL));
        assert_false(copy_is_of_one_device(first, second));
        assert_false(copy_is_of_one_device(first, NULL));
        assert_false(copy_is_of_one_device(NULL, second));
}

static void an_array_s_context_is_not_looked_at(void **unused)
{
        CUDA_MEMCPY3D_PEER box = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                   .srcDevice = DEVICE(0),
                                   .srcContext = (CUcontext)(uintptr_t)1,
                                   .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                   .dstDevice = DEVICE(0) };

        (void)unused;
        assert_false(copy_peer_is_within(NULL));
        assert_false(copy_peer_is_within(&box));
        box.dstMemoryType = CU_MEMORYTYPE_ARRAY;
        assert_true(copy_peer_is_within(&box));
        box.srcMemoryType = CU_MEMORYTYPE_HOST;
        box.srcHost = (const void *)(uintptr_t)HOST;
        assert_false(copy_peer_is_within(&box));
        box.srcMemoryType = CU_MEMORYTYPE_DEVICE;
        box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
        box.dstContext = box.srcContext;
        assert_true(copy_peer_is_within(&box));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(while_no_two_are_seen_nobody_asks_which),
                cmocka_unit_test(who_sees_several_says_device_of_either),
                cmocka_unit_test(what_is_said_to_be_the_host_s_is_asked),
                cmocka_unit_test(what_it_does_not_say_the_driver_knows),
                cmocka_unit_test(who_is_told_nothing_takes_it_for_the_host_s),
                cmocka_unit_test(one_copy_within_the_device_makes_a_batch_one),
                cmocka_unit_test(contexts_of_one_device_are_no_peers),
                cmocka_unit_test(an_array_s_context_is_not_looked_at),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
