/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library behind the toy API. toyAbsent is missing on purpose.
 */
#include "abi/toy.h"

#include <stdarg.h>

long toyEleven(long a, int b, unsigned c, char d, long e, long f, long g, int h, long i, long j,
               void *k)
{
        return a + 2 * b + 3L * c + 5 * d + 7 * e + 11 * f + 13 * g + 17 * h + 19 * i + 23 * j +
               29 * (long)k;
}

double toyMixed(int a, float b, double c, long d, double e, float f, long g, double h, double i,
                double j, double k, double l, double m, long n)
{
        return a + 2 * b + 3 * c + 5 * d + 7 * e + 11 * f + 13 * g + 17 * h + 19 * i + 23 * j +
               29 * k + 31 * l + 37 * m + 41 * n;
}

double toyWide(toy_wide a, toy_wide b, int c)
{
        return a[0] + 2 * a[1] + 3 * a[2] + 5 * a[3] + 7 * b[0] + 11 * b[1] + 13 * b[2] +
               17 * b[3] + 19 * c;
}

long toyBig(struct toy_big a, int b)
{
        return a.part[0] + 2 * a.part[1] + 3 * a.part[2] + 5 * a.part[3] + 7 * a.part[4] + 11 * b;
}

long toyVariadic(int count, ...)
{
        long sum = 0;
        va_list list;

        va_start(list, count);
        for (int i = 1; i <= count; i++)
                sum += i * (long)va_arg(list, double);
        va_end(list);
        return sum;
}

int toyHooked(int a)
{
        return a + 1;
}

const char *toyWho(void)
{
        return "real";
}
