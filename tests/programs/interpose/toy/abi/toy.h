/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An API made for tests: one function for every way of passing arguments, one for every class.
 *
 * Every function sums what it was given with weights, so that an argument lost, swapped or cut
 * shows in the result. A test links the interposer over toy.api; libtoy-real.so is the library
 * behind it.
 */
#ifndef ALIQUOT_TESTS_TOY_H
#define ALIQUOT_TESTS_TOY_H

/* A file that passes toy_wide is compiled with toy_wide_args (meson.build), since not every machine
 * has registers that wide; SPOIL overwrites what a careless stub would leave to chance. */
#if defined(__x86_64__)
#define TOY_HAS_WIDE __builtin_cpu_supports("avx")
#define TOY_SPOIL                                                                             \
        __asm__ volatile("vxorps %%ymm0, %%ymm0, %%ymm0\n\tvxorps %%ymm1, %%ymm1, %%ymm1\n\t" \
                         "vxorps %%ymm7, %%ymm7, %%ymm7\n\txorl %%r10d, %%r10d"               \
                         :                                                                    \
                         :                                                                    \
                         : "xmm0", "xmm1", "xmm7", "r10")
#else
#define TOY_HAS_WIDE 1
#define TOY_SPOIL                                                                              \
        __asm__ volatile("movi v0.16b, #0\n\tmovi v1.16b, #0\n\tmovi v7.16b, #0\n\tmov x8, #0" \
                         :                                                                     \
                         :                                                                     \
                         : "v0", "v1", "v7", "x8")
#endif

typedef double toy_wide __attribute__((vector_size(32)));

struct toy_big {
        long part[5]; /* too large for registers: passed on the stack */
};

long toyEleven(long a, int b, unsigned c, char d, long e, long f, long g, int h, long i, long j,
               void *k);
double toyMixed(int a, float b, double c, long d, double e, float f, long g, double h, double i,
                double j, double k, double l, double m, long n);
double toyWide(toy_wide a, toy_wide b, int c);
long toyBig(struct toy_big a, int b);
long toyVariadic(int count, ...);
int toyHooked(int a);
int toyAbsent(int a);
const char *toyWho(void);

#endif
