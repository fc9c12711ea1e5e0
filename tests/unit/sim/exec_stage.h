/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stage of the execution stories: one simulated node of two small devices in a private folder,
 * a current context, and the built-in kernels.
 */
#ifndef ALIQUOT_TESTS_SIM_EXEC_STAGE_H
#define ALIQUOT_TESTS_SIM_EXEC_STAGE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "abi/cuda.h"

#define ok(call) stage_ok(call, #call, __FILE__, __LINE__)

/* The call succeeded; otherwise the story has failed, or, in a tenant, the tenant ends with 1. */
void stage_ok(CUresult result, const char *call, const char *file, int line);

/* Set in a forked child, where a failing assertion must not go on with the parent's stories. */
extern bool stage_is_tenant;

struct stage {
        CUcontext context;
        CUmodule module;
        CUfunction spin, fill, add, copy, checksum;
};

extern struct stage stage;

/* `extra` are more settings of ALIQUOT_SIM, beginning with a comma, or "". */
void stage_open(const char *extra);

/* cmocka's group fixtures, in virtual time: no busy machine decides what a story measures. */
int stage_open_usual(void **state);
int stage_close(void **state);

/* The two halves of it, for stories of several processes: the folder first, then each joins. */
const char *stage_folder(void);
void stage_join(const char *extra);

/* The node's time, with clock=virtual. */
uint64_t stage_now_ns(void);

/* Fills, on a stream, `count` words. */
void stage_fill(CUstream stream, CUdeviceptr to, uint32_t value, uint64_t count);
void stage_spin(CUstream stream, uint64_t ns);
CUdeviceptr stage_alloc(size_t bytes);
uint32_t stage_word(CUdeviceptr from, uint64_t index);

#endif
