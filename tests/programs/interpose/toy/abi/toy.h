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
long toyGated(long a, double b, toy_wide c, long d, long e, long f, long g, long h, double i);
int toyHooked(int a);
int toyRefused(int a);
int toyAbsent(int a);
const char *toyWho(void);

#endif
