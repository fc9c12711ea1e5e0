/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is made of the answers of NVML: here a table of functions that answer what a story says.
 */
#include "machine/sample.h"

#include <string.h>
#include <time.h>

#include "common/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)
#define CROWD 300u

/* What the fake driver answers. */
static struct {
        nvmlReturn_t rc; /* of every gauge */
        nvmlReturn_t shares_rc;
        nvmlReturn_t list_rc;
        unsigned count[SAMPLE_LISTS];
        nvmlProcessInfo_t info[SAMPLE_LISTS][CROWD];
        unsigned share_count;
        nvmlProcessUtilizationSample_t share[CROWD];
        unsigned long long asked_since_us;
        unsigned xids;
        unsigned long long ecc;
} driver;

static nvmlDevice_t the_device(void)
{
        return (nvmlDevice_t)(uintptr_t)&driver;
}

static nvmlReturn_t by_uuid(const char *uuid, nvmlDevice_t *ret)
{
        *ret = the_device();
        return NVML_SUCCESS;
}

static nvmlReturn_t memory(nvmlDevice_t device, nvmlMemory_t *ret)
{
        *ret = (nvmlMemory_t){ .total = 1000 * MIB, .free = 700 * MIB, .used = 300 * MIB };
        return driver.rc;
}

static nvmlReturn_t memory_v2(nvmlDevice_t device, nvmlMemory_v2_t *ret)
{
        ret->total = 1000 * MIB;
        ret->reserved = 50 * MIB;
        ret->used = 250 * MIB;
        ret->free = 700 * MIB;
        return driver.rc;
}

static nvmlReturn_t utilization(nvmlDevice_t device, nvmlUtilization_t *ret)
{
        *ret = (nvmlUtilization_t){ .gpu = 40, .memory = 30 };
        return driver.rc;
}

static nvmlReturn_t temperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor, unsigned *ret)
{
        *ret = 55;
        return driver.rc;
}

static nvmlReturn_t power(nvmlDevice_t device, unsigned *ret)
{
        *ret = 123456;
        return driver.rc;
}

static nvmlReturn_t read_clock(nvmlDevice_t device, nvmlClockType_t type, unsigned *ret)
{
        *ret = type == NVML_CLOCK_MEM ? 2600 : 1900;
        return driver.rc;
}

static nvmlReturn_t ecc(nvmlDevice_t device, nvmlMemoryErrorType_t type,
                        nvmlEccCounterType_t counter, unsigned long long *ret)
{
        *ret = type == NVML_MEMORY_ERROR_TYPE_CORRECTED ? driver.ecc : 0;
        return driver.rc;
}

static nvmlReturn_t list(unsigned which, unsigned *count, nvmlProcessInfo_t *ret)
{
        unsigned room = *count;

        if (driver.list_rc != NVML_SUCCESS)
                return driver.list_rc;
        *count = driver.count[which];
        if (room < *count)
                return NVML_ERROR_INSUFFICIENT_SIZE;
        memcpy(ret, driver.info[which], *count * sizeof(*ret));
        return NVML_SUCCESS;
}

static nvmlReturn_t compute(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *ret)
{
        return list(0, count, ret);
}

static nvmlReturn_t graphics(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *ret)
{
        return list(1, count, ret);
}

static nvmlReturn_t mps(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *ret)
{
        return list(2, count, ret);
}

static nvmlReturn_t shares(nvmlDevice_t device, nvmlProcessUtilizationSample_t *ret,
                           unsigned *count, unsigned long long since_us)
{
        driver.asked_since_us = since_us;
        *count = driver.share_count;
        memcpy(ret, driver.share, driver.share_count * sizeof(*ret));
        return driver.shares_rc;
}

static nvmlReturn_t make_set(nvmlEventSet_t *ret)
{
        *ret = (nvmlEventSet_t)(uintptr_t)&driver;
        return NVML_SUCCESS;
}

static nvmlReturn_t enter_set(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set)
{
        return NVML_SUCCESS;
}

static nvmlReturn_t next_event(nvmlEventSet_t set, nvmlEventData_t *ret, unsigned timeout_ms)
{
        assert_int_equal(timeout_ms, 0);
        if (!driver.xids)
                return NVML_ERROR_TIMEOUT;
        driver.xids--;
        *ret = (nvmlEventData_t){ .device = the_device(),
                                  .eventType = nvmlEventTypeXidCriticalError,
                                  .eventData = 31 };
        return NVML_SUCCESS;
}

static const struct sample_nvml everything = {
        .by_uuid = by_uuid,
        .memory = memory,
        .memory_v2 = memory_v2,
        .utilization = utilization,
        .temperature = temperature,
        .power = power,
        .power_limit = power,
        .clock = read_clock,
        .ecc = ecc,
        .list = { compute, graphics, mps },
        .shares = shares,
        .event_set_create = make_set,
        .event_register = enter_set,
        .event_wait = next_event,
};

static struct sampler sampler;
static struct sample sample;
static const struct cards one_card = { .count = 1, .card = { { .uuid = { 1 } } } };

static int begin_anew(void **state)
{
        memset(&driver, 0, sizeof(driver));
        sampler = (struct sampler){ .nvml = everything };
        return 0;
}

static int end(void **state)
{
        sample_release(&sample);
        return 0;
}

static void process(unsigned which, unsigned pid, uint64_t bytes)
{
        driver.info[which][driver.count[which]++] =
                (nvmlProcessInfo_t){ .pid = pid, .usedGpuMemory = bytes };
}

static const struct sample_device *take(void)
{
        assert_int_equal(sample_take(&sampler, &one_card, SAMPLE_WHOLE, &sample), 0);
        assert_int_equal(sample.device_count, 1);
        return &sample.device[0];
}

static void all_that_is_told_is_kept(void **state)
{
        const struct sample_device *device;

        driver.ecc = 3;
        device = take();
        assert_int_equal(device->total_bytes, 1000 * MIB);
        assert_int_equal(device->used_bytes, 250 * MIB);
        assert_int_equal(device->reserved_bytes, 50 * MIB);
        assert_int_equal(device->busy_percent, 40);
        assert_int_equal(device->memory_percent, 30);
        assert_int_equal(device->celsius, 55);
        assert_int_equal(device->power_mw, 123456);
        assert_int_equal(device->sm_mhz, 1900);
        assert_int_equal(device->memory_mhz, 2600);
        assert_int_equal(device->ecc_corrected, 3);
        assert_int_equal(device->ecc_uncorrected, 0);
        assert_true(device->has_processes);
        assert_int_equal(sample.failures, 0);
}

static void nothing_is_told(const struct sample_device *device)
{
        assert_int_equal(device->busy_percent, -1);
        assert_int_equal(device->memory_percent, -1);
        assert_int_equal(device->celsius, -1);
        assert_int_equal(device->power_mw, -1);
        assert_int_equal(device->power_limit_mw, -1);
        assert_int_equal(device->sm_mhz, -1);
        assert_int_equal(device->memory_mhz, -1);
        assert_true(device->used_bytes == SAMPLE_NONE && device->total_bytes == SAMPLE_NONE);
        assert_true(device->free_bytes == SAMPLE_NONE && device->reserved_bytes == SAMPLE_NONE);
        assert_true(device->ecc_corrected == SAMPLE_NONE);
        assert_true(device->ecc_uncorrected == SAMPLE_NONE);
        assert_false(device->has_processes);
        assert_int_equal(sample.process_count, 0);
}

static void what_is_not_told_is_never_zero(void **state)
{
        driver.rc = driver.list_rc = NVML_ERROR_NOT_SUPPORTED;
        nothing_is_told(take());
        assert_int_equal(sample.failures, 0);
}

static void a_driver_that_lacks_every_function(void **state)
{
        sampler.nvml = (struct sample_nvml){ 0 };
        nothing_is_told(take());
        assert_int_equal(sample.failures, 0);
}

static void a_gpu_that_is_lost_is_a_failure_and_tells_nothing(void **state)
{
        driver.rc = driver.list_rc = NVML_ERROR_GPU_IS_LOST;
        nothing_is_told(take());
        assert_true(sample.failures > 0);
}

static void memory_by_the_older_call_alone(void **state)
{
        sampler.nvml.memory_v2 = NULL;
        assert_int_equal(take()->used_bytes, 300 * MIB);
        assert_true(sample.device[0].reserved_bytes == SAMPLE_NONE);
}

static void a_process_in_several_lists_is_there_once(void **state)
{
        process(0, 70, 10 * MIB);
        process(0, 7, (uint64_t)NVML_VALUE_NOT_AVAILABLE);
        process(1, 70, 12 * MIB);
        process(2, 70, SAMPLE_NONE);
        process(2, 8, 1 * MIB);
        process(1, 7, 5 * MIB);
        take();
        assert_int_equal(sample.process_count, 3);
        assert_int_equal(sample.process[0].pid, 7);
        assert_int_equal(sample.process[0].kinds, SAMPLE_COMPUTE | SAMPLE_GRAPHICS);
        assert_int_equal(sample.process[0].bytes, 5 * MIB);
        assert_int_equal(sample.process[1].pid, 8);
        assert_int_equal(sample.process[2].pid, 70);
        assert_int_equal(sample.process[2].kinds, SAMPLE_COMPUTE | SAMPLE_GRAPHICS | SAMPLE_MPS);
        assert_int_equal(sample.process[2].bytes, 12 * MIB);
}

static void a_process_whose_bytes_are_not_told_is_there_all_the_same(void **state)
{
        process(0, 7, (uint64_t)NVML_VALUE_NOT_AVAILABLE);
        take();
        assert_int_equal(sample.process_count, 1);
        assert_true(sample.process[0].bytes == SAMPLE_NONE);
}

static void more_processes_than_were_expected_are_all_there(void **state)
{
        for (unsigned i = 0; i < CROWD; i++)
                process(0, CROWD - i, MIB);
        take();
        assert_int_equal(sample.process_count, CROWD);
        for (unsigned i = 0; i < CROWD; i++)
                assert_int_equal(sample.process[i].pid, i + 1);
}

static void who_was_busy_since_the_last_look(void **state)
{
        process(0, 7, MIB);
        process(0, 8, MIB);
        process(0, 9, MIB);
        driver.share_count = 3;
        driver.share[0] = (nvmlProcessUtilizationSample_t){
                .pid = 7, .timeStamp = 100, .smUtil = 60, .memUtil = 5
        };
        driver.share[1] =
                (nvmlProcessUtilizationSample_t){ .pid = 8, .timeStamp = 90, .smUtil = 4000 };
        driver.share[2] =
                (nvmlProcessUtilizationSample_t){ .pid = 77, .timeStamp = 95, .smUtil = 1 };
        take();
        assert_int_equal(sample.process[0].busy_percent, 60);
        assert_int_equal(sample.process[0].memory_percent, 5);
        assert_int_equal(sample.process[1].busy_percent, -1); /* no percentage */
        assert_int_equal(sample.process[2].busy_percent, 0);
        /* The driver repeats what it said before. */
        take();
        assert_int_equal(driver.asked_since_us, 90);
        assert_int_equal(sample.process[0].busy_percent, 0);
        driver.shares_rc = NVML_ERROR_NOT_SUPPORTED;
        take();
        assert_int_equal(sample.process[0].busy_percent, -1);
}

static void share(unsigned pid, unsigned percent, unsigned long long stamp_us)
{
        driver.share[driver.share_count++] = (nvmlProcessUtilizationSample_t){
                .pid = pid, .timeStamp = stamp_us, .smUtil = percent
        };
}

/* The driver samples each process at a time of its own. */
static void who_was_sampled_before_another_was_busy_all_the_same(void **state)
{
        process(0, 7, MIB);
        process(0, 8, MIB);
        share(7, 10, 9000);
        share(8, 10, 1000);
        take();
        driver.share_count = 0;
        share(7, 10, 9000);
        share(8, 80, 6000);
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
        take();
        assert_int_equal(driver.asked_since_us, 1000);
        assert_int_equal(sample.process[0].busy_percent, 0); /* that was told before */
        assert_int_equal(sample.process[1].busy_percent, 80);
        assert_int_equal(sample.process[1].busy_ns, 4000000);
}

/* However many there are: of those beyond the table's room nothing counts twice. */
static void a_crowd_is_busy_at_each_look(void **state)
{
        for (unsigned look = 1; look <= 3; look++) {
                driver.count[0] = driver.share_count = 0;
                for (unsigned pid = 1; pid <= CROWD; pid++) {
                        process(0, pid, MIB);
                        share(pid, 50, 1000 * look);
                }
                take();
                for (unsigned i = 0; i < CROWD; i++)
                        assert_int_equal(sample.process[i].busy_percent, 50);
        }
        take();
        for (unsigned i = 0; i < CROWD; i++)
                assert_int_equal(sample.process[i].busy_percent, 0);
}

static void one_share(unsigned percent, unsigned long long stamp_us)
{
        driver.share_count = 0;
        share(7, percent, stamp_us);
}

/* A share is of the time since the stamp before; but of no more than there was between the looks.
 */
static void for_how_long_it_was_busy(void **state)
{
        uint64_t before_ns = clock_now_ns();

        process(0, 7, MIB);
        one_share(60, 100);
        assert_true(take()->has_shares);
        assert_int_equal(sample.process[0].busy_ns, 0); /* since when is not known */
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
        one_share(50, 8100);
        take();
        assert_int_equal(sample.process[0].busy_ns, 4000000);
        one_share(50, 3600000000);
        take();
        assert_true(sample.process[0].busy_ns <= (clock_now_ns() - before_ns) / 2);
        driver.shares_rc = NVML_ERROR_NOT_FOUND; /* nobody was */
        assert_true(take()->has_shares);
        assert_int_equal(sample.process[0].busy_ns, 0);
        driver.shares_rc = NVML_ERROR_NO_PERMISSION;
        assert_false(take()->has_shares);
}

static void critical_errors_are_counted(void **state)
{
        assert_int_equal(take()->xids, 0);
        driver.xids = 2;
        assert_int_equal(take()->xids, 2);
        assert_int_equal(sample.device[0].xid_last, 31);
        assert_int_equal(take()->xids, 2);
}

static void a_look_at_processes_asks_for_nothing_else(void **state)
{
        process(0, 7, MIB);
        assert_int_equal(sample_take(&sampler, &one_card, SAMPLE_PROCESSES, &sample), 0);
        assert_int_equal(sample.process_count, 1);
        assert_int_equal(sample.device[0].used_bytes, 250 * MIB);
        assert_int_equal(sample.device[0].celsius, -1);
        assert_int_equal(sample.process[0].busy_percent, -1);
}

static void a_card_in_instances_lists_its_processes_with_these(void **state)
{
        const struct cards cards = {
                .count = 2, .card = { { .uuid = { 1 } }, { .uuid = { 2 }, .is_instance = true } }
        };

        process(0, 7, MIB);
        assert_int_equal(sample_take(&sampler, &cards, SAMPLE_WHOLE, &sample), 0);
        assert_int_equal(sample.device_count, 2);
        assert_false(sample.device[0].has_processes);
        assert_int_equal(sample.device[0].celsius, 55);
        assert_int_equal(sample.process_count, 1);
        assert_int_equal(sample.process[0].device, 1);
}

int main(void)
{
#define STORY(name) cmocka_unit_test_setup_teardown(name, begin_anew, end)
        const struct CMUnitTest tests[] = {
                STORY(all_that_is_told_is_kept),
                STORY(what_is_not_told_is_never_zero),
                STORY(a_driver_that_lacks_every_function),
                STORY(a_gpu_that_is_lost_is_a_failure_and_tells_nothing),
                STORY(memory_by_the_older_call_alone),
                STORY(a_process_in_several_lists_is_there_once),
                STORY(a_process_whose_bytes_are_not_told_is_there_all_the_same),
                STORY(more_processes_than_were_expected_are_all_there),
                STORY(who_was_busy_since_the_last_look),
                STORY(who_was_sampled_before_another_was_busy_all_the_same),
                STORY(a_crowd_is_busy_at_each_look),
                STORY(for_how_long_it_was_busy),
                STORY(critical_errors_are_counted),
                STORY(a_look_at_processes_asks_for_nothing_else),
                STORY(a_card_in_instances_lists_its_processes_with_these),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
