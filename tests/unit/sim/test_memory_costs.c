/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What memory that moves costs: VMM calls, pinned memory, copies in both directions; in virtual
 * time, to the nanosecond.
 *
 * Each story has settings of its own, so its calls are made by children. They tell times in shared
 * memory, and the parent, which never initialises the driver, compares them.
 */
#include "exec_stage.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define US UINT64_C(1000)
#define MIB (UINT64_C(1) << 20)
#define PAGE (2 * MIB)
#define CHILDREN 4
#define TIMES 8

/* By child; of the children alone. */
static uint64_t (*told)[TIMES];
static unsigned number; /* of this child */

static const CUmemAllocationProp on_device = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
};
static const CUmemAccessDesc open_to_device = {
        { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
        CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
};

static void child(const char *settings, unsigned children, void (*body)(uint64_t *ret))
{
        char extra[256];

        for (number = 0; number < children && fork(); number++)
                ;
        if (number == children)
                return;
        stage_is_tenant = true;
        snprintf(extra, sizeof(extra), ",clock=virtual,begin_with=%u,%s", children, settings);
        stage_join(extra);
        body(told[number]);
        _exit(0);
}

/* The children make their calls at the same time. */
static void play(const char *settings, unsigned children, void (*body)(uint64_t *ret))
{
        int status;

        memset(told, 0, CHILDREN * sizeof(*told));
        child(settings, children, body);
        for (unsigned i = 0; i < children; i++) {
                assert_true(wait(&status) > 0);
                assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        }
}

/* Since the last call of it. */
static uint64_t lap_ns(void)
{
        static uint64_t last_ns;
        uint64_t began_ns = last_ns;

        last_ns = stage_now_ns();
        return last_ns - began_ns;
}

enum { RESERVE, CREATE, MAP, ACCESS, UNMAP, RELEASE };

static void a_segment_comes_and_goes(uint64_t bytes, uint64_t *ret)
{
        CUmemGenericAllocationHandle handle;
        CUdeviceptr at;

        lap_ns();
        ok(cuMemAddressReserve(&at, bytes, 0, 0, 0));
        ret[RESERVE] = lap_ns();
        ok(cuMemCreate(&handle, bytes, &on_device, 0));
        ret[CREATE] = lap_ns();
        ok(cuMemMap(at, bytes, 0, handle, 0));
        ret[MAP] = lap_ns();
        ok(cuMemSetAccess(at, bytes, &open_to_device, 1));
        ret[ACCESS] = lap_ns();
        ok(cuMemUnmap(at, bytes));
        ret[UNMAP] = lap_ns();
        ok(cuMemRelease(handle));
        ret[RELEASE] = lap_ns();
        ok(cuMemAddressFree(at, bytes));
}

static void one_page(uint64_t *ret)
{
        a_segment_comes_and_goes(PAGE, ret);
}

static void ten_pages(uint64_t *ret)
{
        a_segment_comes_and_goes(10 * PAGE, ret);
}

static void assert_told(uint64_t reserve, uint64_t create, uint64_t map, uint64_t access,
                        uint64_t unmap, uint64_t release)
{
        assert_int_equal(told[0][RESERVE], reserve);
        assert_int_equal(told[0][CREATE], create);
        assert_int_equal(told[0][MAP], map);
        assert_int_equal(told[0][ACCESS], access);
        assert_int_equal(told[0][UNMAP], unmap);
        assert_int_equal(told[0][RELEASE], release);
}

static void a_vmm_call_costs_by_call_and_by_page(void **state)
{
        play("costs=real", 1, one_page);
        assert_told(19 * US, 193 * US, 1450, 36 * US, 25600, 25600);
        play("costs=real", 1, ten_pages);
        assert_told(19 * US, 220 * US, 1450, 63 * US, 52600, 52600);
}

static void each_vmm_call_has_its_own_keys(void **state)
{
        play("vmm_reserve=1us,vmm_create=2us,vmm_map=3us,vmm_access=4us,vmm_unmap=5us,"
             "vmm_release=6us,vmm_reserve_page=10us,vmm_create_page=20us,vmm_map_page=30us,"
             "vmm_access_page=40us,vmm_unmap_page=50us,vmm_release_page=60us",
             1, ten_pages);
        assert_told(91 * US, 182 * US, 273 * US, 364 * US, 455 * US, 546 * US);
}

static void one_key_sets_all_vmm_calls_that_have_none_of_their_own(void **state)
{
        play("costs=real,vmm=7us,vmm_map=1us", 1, ten_pages);
        assert_told(7 * US, 7 * US, 1 * US, 7 * US, 7 * US, 7 * US);
}

static void vmm_calls_cost_nothing_unless_asked_for(void **state)
{
        play("model=h200", 1, ten_pages);
        assert_told(0, 0, 0, 0, 0, 0);
}

static void refused_calls(uint64_t *ret)
{
        CUmemGenericAllocationHandle handle;
        CUdeviceptr at;

        lap_ns();
        ret[0] = cuMemCreate(&handle, 2048 * MIB, &on_device, 0);
        ret[1] = cuMemUnmap(PAGE, PAGE);
        ret[2] = cuMemAddressReserve(&at, 1, 0, 0, 0);
        ret[3] = lap_ns();
}

static void a_refused_vmm_call_costs_nothing(void **state)
{
        play("costs=real", 1, refused_calls);
        assert_int_equal(told[0][0], CUDA_ERROR_OUT_OF_MEMORY);
        assert_int_equal(told[0][1], CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(told[0][2], CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(told[0][3], 0);
}

static void creates(uint64_t *ret)
{
        CUmemGenericAllocationHandle handle;

        lap_ns();
        for (int i = 0; i < 25; i++)
                ok(cuMemCreate(&handle, PAGE, &on_device, 0));
        ret[0] = lap_ns();
}

/* Half of a call passes under the lock: the fourth one is served last in each round. */
static void vmm_calls_of_four_processes_go_half_as_fast(void **state)
{
        uint64_t last_ns = 0;

        play("vmm_create=100us,vmm_lock=50", 1, creates);
        assert_int_equal(told[0][0], 25 * 100 * US);
        play("vmm_create=100us,vmm_lock=50", 4, creates);
        for (unsigned i = 0; i < 4; i++)
                last_ns = told[i][0] > last_ns ? told[i][0] : last_ns;
        assert_int_equal(last_ns, (4 * 25 + 1) * 50 * US);
        play("vmm_create=100us", 4, creates);
        for (unsigned i = 0; i < 4; i++)
                assert_int_equal(told[i][0], 25 * 100 * US);
}

static void pinned_memory_comes_and_goes(uint64_t *ret)
{
        void *own = mmap(NULL, 1024 * MIB, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        void *at;

        lap_ns();
        ok(cuMemHostAlloc(&at, 1024 * MIB, 0));
        ret[0] = lap_ns();
        ok(cuMemFreeHost(at));
        ret[1] = lap_ns();
        ok(cuMemAllocHost_v2(&at, 64 * MIB));
        ret[2] = lap_ns();
        ok(cuMemHostRegister_v2(own, 256 * MIB, 0));
        ret[3] = lap_ns();
        ret[4] = cuMemHostRegister_v2(own, 512 * MIB, 0);
        ok(cuMemHostUnregister(own));
        ret[5] = lap_ns();
}

static void assert_pinned(uint64_t alloc, uint64_t alloc_host, uint64_t registered)
{
        assert_int_equal(told[0][0], alloc);
        assert_int_equal(told[0][1], 0);
        assert_int_equal(told[0][2], alloc_host);
        assert_int_equal(told[0][3], registered);
        assert_int_equal(told[0][4], CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
        assert_int_equal(told[0][5], 0);
}

static void pinning_takes_time_by_size_and_unpinning_none(void **state)
{
        play("costs=real", 1, pinned_memory_comes_and_goes);
        assert_pinned(500000 * US, 31250 * US, 125000 * US);
        play("pin=4GiB/s", 1, pinned_memory_comes_and_goes);
        assert_pinned(250000 * US, 15625 * US, 62500 * US);
        play("costs=real,pin=max", 1, pinned_memory_comes_and_goes);
        assert_pinned(0, 0, 0);
        play("model=h200", 1, pinned_memory_comes_and_goes);
        assert_pinned(0, 0, 0);
}

#define SEGMENT (MIB / 4)
#define MANY 10

/* A segment takes 10 ms. */
#define LINK "host=25MiB/s"

enum { OUT, IN };

struct way {
        CUdeviceptr device;
        void *host;
        CUstream stream;
};

static struct way way_make(void)
{
        struct way way;

        ok(cuMemAlloc_v2(&way.device, SEGMENT));
        ok(cuMemHostAlloc(&way.host, SEGMENT, 0));
        ok(cuStreamCreate(&way.stream, CU_STREAM_NON_BLOCKING));
        return way;
}

static void move(const struct way *way, unsigned direction)
{
        if (direction == OUT)
                ok(cuMemcpyDtoHAsync_v2(way->host, way->device, SEGMENT, way->stream));
        else
                ok(cuMemcpyHtoDAsync_v2(way->device, way->host, SEGMENT, way->stream));
}

static void out_and_in(unsigned times, uint64_t *ret)
{
        struct way ways[2] = { way_make(), way_make() };
        uint64_t began_ns = stage_now_ns();

        for (unsigned i = 0; i < 2 * times; i++)
                move(&ways[i % 2], i % 2);
        ok(cuStreamSynchronize(ways[OUT].stream));
        ret[OUT] = stage_now_ns() - began_ns;
        ok(cuStreamSynchronize(ways[IN].stream));
        ret[IN] = stage_now_ns() - began_ns;
}

static void one_out_and_one_in(uint64_t *ret)
{
        out_and_in(1, ret);
}

static void many_out_and_many_in(uint64_t *ret)
{
        out_and_in(MANY, ret);
}

static void one_out_or_one_in(uint64_t *ret)
{
        struct way way = way_make();

        lap_ns();
        move(&way, number);
        ok(cuStreamSynchronize(way.stream));
        ret[0] = lap_ns();
}

/* The second copy has done 44 % when the first one is over. */
static void copies_in_both_directions_share_the_link(void **state)
{
        play(LINK ",duplex=144", 1, one_out_and_one_in);
        assert_int_equal(told[0][OUT], 10000 * US);
        assert_int_equal(told[0][IN], 15600 * US);
        play(LINK ",duplex=100", 1, one_out_and_one_in);
        assert_int_equal(told[0][OUT], 10000 * US);
        assert_int_equal(told[0][IN], 20000 * US);
        play(LINK, 1, one_out_and_one_in);
        assert_int_equal(told[0][OUT], 10000 * US);
        assert_int_equal(told[0][IN], 10000 * US);
}

static void copies_of_two_processes_share_the_link(void **state)
{
        play(LINK ",duplex=144", 2, one_out_or_one_in);
        assert_int_equal(told[0][0] + told[1][0], (10000 + 15600) * US);
}

/* One direction ends first; until then both together go at 144 %. */
static void a_stream_of_copies_in_each_direction_has_the_sum(void **state)
{
        uint64_t first_ns, last_ns, done_ns;

        play(LINK ",duplex=144", 1, many_out_and_many_in);
        first_ns = told[0][OUT] < told[0][IN] ? told[0][OUT] : told[0][IN];
        last_ns = told[0][IN];
        done_ns = first_ns / 100 * 144 + (last_ns - first_ns);
        assert_in_range(done_ns, 2 * MANY * 10000 * US - US, 2 * MANY * 10000 * US + US);
}

static void a_whole_card_goes_out(uint64_t *ret)
{
        size_t free_bytes, card_bytes;
        struct way way = way_make();

        ok(cuMemGetInfo_v2(&free_bytes, &card_bytes));
        lap_ns();
        for (uint64_t moved = 0; moved < card_bytes; moved += SEGMENT)
                move(&way, OUT);
        ok(cuStreamSynchronize(way.stream));
        ret[0] = lap_ns();
        ret[1] = card_bytes;
}

/* As much as 16 GiB at 25.6 GB/s. */
static void a_card_at_a_scale_moves_its_memory_in_the_time_of_the_large_one(void **state)
{
        play("host=1.6GB/s", 1, a_whole_card_goes_out);
        assert_int_equal(told[0][1], 1024 * MIB);
        assert_int_equal(told[0][0], 671088640);
}

static int open_stage(void **state)
{
        stage_folder();
        told = mmap(NULL, CHILDREN * sizeof(*told), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        return told == MAP_FAILED;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_vmm_call_costs_by_call_and_by_page),
                cmocka_unit_test(each_vmm_call_has_its_own_keys),
                cmocka_unit_test(one_key_sets_all_vmm_calls_that_have_none_of_their_own),
                cmocka_unit_test(vmm_calls_cost_nothing_unless_asked_for),
                cmocka_unit_test(a_refused_vmm_call_costs_nothing),
                cmocka_unit_test(vmm_calls_of_four_processes_go_half_as_fast),
                cmocka_unit_test(pinning_takes_time_by_size_and_unpinning_none),
                cmocka_unit_test(copies_in_both_directions_share_the_link),
                cmocka_unit_test(copies_of_two_processes_share_the_link),
                cmocka_unit_test(a_stream_of_copies_in_each_direction_has_the_sum),
                cmocka_unit_test(a_card_at_a_scale_moves_its_memory_in_the_time_of_the_large_one),
        };

        return cmocka_run_group_tests(tests, open_stage, stage_close);
}
