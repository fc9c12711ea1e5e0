/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thunks carry every argument, on the first call, which opens the library, as on later ones.
 */
#include <errno.h>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "abi/toy.h"
#include "front.h"
#include "interpose/library.h"
#include "interpose/self.h"
#include "shim/real.h"

/* Each story runs in a child, so that each has a first call. */
static void in_child(void (*story)(void))
{
        int status = 0;
        pid_t child = fork();

        if (child == 0) {
                story();
                _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
}

#define CHECK(condition)                           \
        do {                                       \
                if (!(condition))                  \
                        _exit(__LINE__ % 200 + 1); \
        } while (0)

static void call_eleven(void)
{
        long expected = 1 + 2 * 2 + 3 * 3 + 5 * 4 + 7 * 5 + 11 * 6 + 13 * 7 + 17 * 8 + 19 * 9 +
                        23 * 10 + 29 * 11;

        for (int i = 0; i < 3; i++)
                CHECK(toyEleven(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, (void *)11) == expected);
}

static void call_mixed(void)
{
        double expected = 1 + 2 * 2.5 + 3 * 3.5 + 5 * 4 + 7 * 5.5 + 11 * 6.5 + 13 * 7 + 17 * 8.5 +
                          19 * 9.5 + 23 * 10.5 + 29 * 11.5 + 31 * 12.5 + 37 * 13.5 + 41 * 14;

        for (int i = 0; i < 3; i++)
                CHECK(toyMixed(1, 2.5f, 3.5, 4, 5.5, 6.5f, 7, 8.5, 9.5, 10.5, 11.5, 12.5, 13.5,
                               14) == expected);
}

/* Wide vectors are half of a register that 128-bit code leaves alone, and wide code does not. */
static void call_wide(void)
{
        toy_wide a = { 1, 2, 3, 4 }, b = { 5, 6, 7, 8 };
        double expected = 1 + 4 + 9 + 20 + 35 + 66 + 91 + 136 + 19 * 9;

        for (int i = 0; i < 3; i++)
                CHECK(toyWide(a, b, 9) == expected);
}

static void call_on_stack(void)
{
        struct toy_big big = { { 1, 2, 3, 4, 5 } };

        for (int i = 0; i < 3; i++)
                CHECK(toyBig(big, 6) == 1 + 4 + 9 + 20 + 35 + 66);
}

static void call_variadic(void)
{
        for (int i = 0; i < 3; i++)
                CHECK(toyVariadic(10, 1., 2., 3., 4., 5., 6., 7., 8., 9., 10.) == 385);
}

static void eleven_arguments(void **state)
{
        in_child(call_eleven);
}

static void integers_among_floats(void **state)
{
        in_child(call_mixed);
}

static void wide_vectors(void **state)
{
        in_child(call_wide);
}

static void structs_on_the_stack(void **state)
{
        in_child(call_on_stack);
}

static void variadic(void **state)
{
        in_child(call_variadic);
}

static void *call_from_thread(void *arg)
{
        pthread_barrier_wait(arg);
        for (int i = 0; i < 1000; i++) {
                CHECK(toyVariadic(3, 1., 2., 3.) == 14);
                CHECK(toyHooked(1) == 1002);
        }
        return NULL;
}

static void call_from_threads(void)
{
        pthread_barrier_t together;
        pthread_t thread[16];

        pthread_barrier_init(&together, NULL, 16);
        for (int i = 0; i < 16; i++)
                CHECK(pthread_create(&thread[i], NULL, call_from_thread, &together) == 0);
        for (int i = 0; i < 16; i++)
                pthread_join(thread[i], NULL);
}

/* Sixteen first calls at once open one library and all arrive. */
static void first_calls_race(void **state)
{
        for (int i = 0; i < 20; i++)
                in_child(call_from_threads);
}

static void call_every_class(void)
{
        CHECK(strcmp(toyWho(), "real") == 0);
        CHECK(toyHooked(5) == 1006);
        CHECK(real.toyHooked(5) == 6);
        CHECK(toyAbsent(5) == TOY_NO_FUNCTION);
        CHECK(real.toyAbsent(5) == TOY_NO_FUNCTION);
        CHECK(!library_has(&toy_api, ENTRY_toyAbsent));
        CHECK(library_has(&toy_api, ENTRY_toyBig));
}

static void each_class_answers(void **state)
{
        in_child(call_every_class);
}

static void call_without_library(void)
{
        setenv(TOY_VARIABLE, "/nonexistent/libtoy.so.1", 1);
        CHECK(toyEleven(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, NULL) == TOY_NO_LIBRARY);
        CHECK(toyHooked(5) == TOY_NO_LIBRARY + 1000);
        /* The driver may come later: nothing was given up for good. */
        setenv(TOY_VARIABLE, TOY_REAL_PATH, 1);
        CHECK(toyHooked(5) == 1006);
}

static void no_library_is_an_answer(void **state)
{
        in_child(call_without_library);
}

static void call_with_state(void)
{
        struct sigaction before[NSIG] = { 0 }, after = { 0 };
        mode_t mask = umask(0137);
        char *pending;

        for (int i = 1; i < NSIG; i++)
                sigaction(i, NULL, &before[i]);
        CHECK(dlopen("/nonexistent/of-the-program.so", RTLD_NOW) == NULL);
        errno = 4711;
        CHECK(toyHooked(5) == 1006);
        CHECK(errno == 4711);
        pending = dlerror();
        CHECK(pending && strstr(pending, "/nonexistent/of-the-program.so: cannot open"));
        CHECK(umask(mask) == 0137);
        for (int i = 1; i < NSIG; i++) {
                if (sigaction(i, NULL, &after) == 0) /* two are the C library's own */
                        CHECK(after.sa_handler == before[i].sa_handler);
        }
}

/* B6: errno, the pending dlerror, umask and signal handlers are the program's, also on the call
 * that opens the library. */
static void leaves_the_program_alone(void **state)
{
        in_child(call_with_state);
}

/* The doors are not for calls of our own: here the loader says that there is no such file, where
 * the door would have given us ourselves. */
static void our_own_calls_are_exempt(void **state)
{
        assert_true(self_contains((void *)our_own_calls_are_exempt));
        assert_non_null(library_open(&toy_api, NULL));
        assert_null(dlopen("libtoy.so.1", RTLD_NOW));
        assert_non_null(strstr(dlerror(), "libtoy.so.1: cannot open shared object file"));
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(eleven_arguments),
                cmocka_unit_test(integers_among_floats),
                cmocka_unit_test(wide_vectors),
                cmocka_unit_test(structs_on_the_stack),
                cmocka_unit_test(variadic),
                cmocka_unit_test(first_calls_race),
                cmocka_unit_test(each_class_answers),
                cmocka_unit_test(no_library_is_an_answer),
                cmocka_unit_test(leaves_the_program_alone),
                cmocka_unit_test(our_own_calls_are_exempt),
        };

        /* Nothing wide may run before this, hence the static above. */
        if (!TOY_HAS_WIDE)
                return 77;
        setenv(TOY_VARIABLE, TOY_REAL_PATH, 1);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
