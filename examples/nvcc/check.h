/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs here share: a call that fails is said with its place, and ends the program.
 * Exit status: 0 done, 1 a call failed or a result was wrong, 3 out of memory.
 */
#ifndef ALIQUOT_EXAMPLES_CHECK_H
#define ALIQUOT_EXAMPLES_CHECK_H

#include <cstdio>
#include <cstdlib>

enum { FAILED = 1, OUT_OF_MEMORY = 3 };

inline void check_at(cudaError_t error, const char *call, const char *file, int line)
{
        if (error == cudaSuccess)
                return;
        printf("%s:%d: %s: %s (%s)\n", file, line, call, cudaGetErrorString(error),
               cudaGetErrorName(error));
        exit(error == cudaErrorMemoryAllocation ? OUT_OF_MEMORY : FAILED);
}

#define CHECK(call) check_at((call), #call, __FILE__, __LINE__)

inline void require_at(bool is_true, const char *what, const char *file, int line)
{
        if (is_true)
                return;
        printf("%s:%d: not so: %s\n", file, line, what);
        exit(FAILED);
}

#define REQUIRE(what) require_at((what), #what, __FILE__, __LINE__)

#endif
