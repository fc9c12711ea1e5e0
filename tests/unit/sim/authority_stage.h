/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stage of the stories of virtual time: an authority of their own, and processes that do
 * nothing but wait for it. Times in nanoseconds.
 */
#ifndef TESTS_UNIT_SIM_AUTHORITY_STAGE_H
#define TESTS_UNIT_SIM_AUTHORITY_STAGE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/types.h>
#include <time.h>

#include "common/atomic.h"
#include "sim/node/authority.h"

#define MS_NS UINT64_C(1000000)
#define SECOND_NS UINT64_C(1000000000)
#define ENTRIES 4096

/* What all processes of a story share. */
struct stage {
        struct authority time;
        _Atomic uint32_t word;
        _Atomic uint32_t length;
        _Atomic uint32_t flag;
        _Atomic uint32_t steps[2];
        uint32_t entry[ENTRIES]; /* who ran, in order */
        uint64_t at_ns[ENTRIES];
};

extern struct stage *stage;

/* cmocka's fixtures: one stage a story. */
int stage_setup(void **state);
int stage_teardown(void **state);
#define STORY(name) cmocka_unit_test_setup_teardown(name, stage_setup, stage_teardown)

/* A process that runs `body`, and must end with 0. */
pid_t start(int (*body)(unsigned who), unsigned who);
void ends_well(pid_t child);

/* In virtual time; and of the machine's, for what virtual time is not to know. */
void sleep_ns(uint64_t ns);
void nap_ms(void);

/* Puts down that it is this one's turn. */
void note(uint32_t who);

/* Rule: two processes that take part go in the order of their times. */
void two_processes_go_in_the_order_of_their_times(void **state);

/* Takes part, sleeps for a second, and has done well. */
int outlives(unsigned who);

#endif
