/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Returns the pthread_create() of ThreadSanitizer: a thread that was created in another way cannot
 * run instrumented code.
 */
#include "shim/maker.h"

thread_maker *maker_find(void)
{
        return pthread_create;
}
