/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room in a file that will be mapped, with a file system that does what each story wants.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/reserve.h"

/* What the calls answer, one after the other and the last one for good: 0 or an errno. */
static const int *answers;
static uint64_t reserved_bytes, end;

/* Instead of the C library's. */
int fallocate(int fd, int mode, off_t offset, off_t bytes)
{
        errno = *answers;
        if (answers[1] >= 0)
                answers++;
        if (errno)
                return -1;
        assert_int_equal(offset, end);
        end = (uint64_t)(offset + bytes);
        reserved_bytes += (uint64_t)bytes;
        return 0;
}

static int reserve_where(const int *calls_answer, uint64_t bytes)
{
        answers = calls_answer;
        reserved_bytes = 0;
        end = 4096;
        return reserve_bytes(3, 4096, bytes);
}

static void all_of_it_is_reserved_once(void **state)
{
        assert_int_equal(reserve_where((int[]){ 0, -1 }, 1000000), 0);
        assert_int_equal(reserved_bytes, 1000000);
}

/* A profiler's signals, for one: they must not look like a full file system. */
static void signals_that_interrupt_it_delay_it(void **state)
{
        assert_int_equal(reserve_where((int[]){ EINTR, EINTR, 0, EINTR, 0, -1 }, 100000), 0);
        assert_int_equal(reserved_bytes, 100000);
}

static void a_full_file_system_is_told(void **state)
{
        assert_int_equal(reserve_where((int[]){ 0, ENOSPC, -1 }, 100000), -ENOSPC);
}

static void a_file_system_that_cannot_tell_is_taken_to_have_room(void **state)
{
        assert_int_equal(reserve_where((int[]){ EOPNOTSUPP, -1 }, 100000), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(all_of_it_is_reserved_once),
                cmocka_unit_test(signals_that_interrupt_it_delay_it),
                cmocka_unit_test(a_full_file_system_is_told),
                cmocka_unit_test(a_file_system_that_cannot_tell_is_taken_to_have_room),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
