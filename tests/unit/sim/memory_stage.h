/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A private node for tests of the simulator's memory, and the oracle that looks at it.
 *
 * stage_open() makes a state folder and puts ALIQUOT_SIM in the environment; nothing is initialised
 * yet, so a test may still fork. stage_close() removes the folder.
 */
#ifndef TESTS_UNIT_SIM_MEMORY_STAGE_H
#define TESTS_UNIT_SIM_MEMORY_STAGE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "abi/cuda.h"
#include "sim/node/oracle.h"

#define MIB (1ULL << 20)
#define GIB (1ULL << 30)

/* `spec` is put after the state folder; `tag` is ALIQUOT_SESSION. */
void stage_open(const char *spec, const char *tag);

/* cmocka's group fixture. */
int stage_close(void **state);

const char *stage_dir(void);

/* cuInit and a current context on device 0. */
CUcontext stage_context(void);

/* The oracle's figure of this process on a device: one family, or all without the context. */
uint64_t stage_granted(unsigned device, enum family family);
uint64_t stage_tag_current(const char *tag, unsigned device);
uint64_t stage_tag_high(const char *tag, unsigned device);
uint64_t stage_device_current(unsigned device);

/* Waits (at most 10 s) until the device's total is as expected; what it was at the end. */
uint64_t stage_device_settles(unsigned device, uint64_t expected_bytes);

#define assert_ok(call) assert_int_equal((call), CUDA_SUCCESS)

#endif
