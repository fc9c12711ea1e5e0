/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the function that creates threads.
 *
 * Older C libraries have threads in a library of their own, which a program may not have loaded
 * when our library is loaded. So the function is looked up when it is needed (see oldlibc.c). A
 * build for ThreadSanitizer uses maker_tsan.c instead of maker.c.
 */
#ifndef ALIQUOT_SHIM_MAKER_H
#define ALIQUOT_SHIM_MAKER_H

#include <pthread.h>

typedef __typeof__(pthread_create) thread_maker;

/* Returns pthread_create() of the program; NULL: the program has no library with threads. */
thread_maker *maker_find(void);

#endif
