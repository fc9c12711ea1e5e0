/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The 16-byte swap that the ledger rests on: both halves or neither, whoever else is at it.
 */
#include "common/swap128.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define AT_ONCE 4
#define ROUNDS 20000u

struct word {
        _Alignas(16) uint64_t half[2];
};

static void what_is_expected_is_swapped(void **state)
{
        struct word word = { { 1, 2 } };

        assert_true(swap128(word.half, (uint64_t[]){ 1, 2 }, (uint64_t[]){ 3, 4 }));
        assert_int_equal(word.half[0], 3);
        assert_int_equal(word.half[1], 4);
}

/* Either half, at either end of its bits. */
static void what_differs_stays(void **state)
{
        const uint64_t bits[] = { 1, UINT64_C(1) << 63 };

        for (unsigned i = 0; i < 4; i++) {
                struct word word = { { 5, 6 } };
                uint64_t expected[2] = { 5, 6 };

                expected[i / 2] ^= bits[i % 2];
                assert_false(swap128(word.half, expected, (uint64_t[]){ 7, 8 }));
                assert_int_equal(word.half[0], 5);
                assert_int_equal(word.half[1], 6);
        }
}

/* The second half is always three times the first: a swap of one half alone would show. */
static void *count_up(void *argument)
{
        struct word *word = argument;

        for (unsigned i = 0; i < ROUNDS; i++) {
                uint64_t seen[2], next[2];

                do {
                        seen[0] = __atomic_load_n(&word->half[0], __ATOMIC_RELAXED);
                        seen[1] = 3 * seen[0];
                        next[0] = seen[0] + 1;
                        next[1] = 3 * next[0];
                } while (!swap128(word->half, seen, next));
        }
        return NULL;
}

static void threads_lose_no_step(void **state)
{
        struct word word = { { 0, 0 } };
        pthread_t threads[AT_ONCE];

        for (unsigned i = 0; i < AT_ONCE; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, count_up, &word), 0);
        for (unsigned i = 0; i < AT_ONCE; i++)
                pthread_join(threads[i], NULL);
        assert_int_equal(word.half[0], AT_ONCE * ROUNDS);
        assert_int_equal(word.half[1], 3 * AT_ONCE * ROUNDS);
}

static void processes_lose_no_step(void **state)
{
        struct word *word = mmap(NULL, sizeof(*word), PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        assert_ptr_not_equal(word, MAP_FAILED);
        for (unsigned i = 0; i < AT_ONCE; i++) {
                if (fork() == 0) {
                        count_up(word);
                        _exit(0);
                }
        }
        while (wait(NULL) > 0)
                ;
        assert_int_equal(word->half[0], AT_ONCE * ROUNDS);
        assert_int_equal(word->half[1], 3 * AT_ONCE * ROUNDS);
        munmap(word, sizeof(*word));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_expected_is_swapped),
                cmocka_unit_test(what_differs_stays),
                cmocka_unit_test(threads_lose_no_step),
                cmocka_unit_test(processes_lose_no_step),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
