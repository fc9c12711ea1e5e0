/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pthread_create of ThreadSanitizer: a thread that it did not see being made cannot run
 * instrumented code.
 */
#include "shim/maker.h"

thread_maker *maker_find(void)
{
        return pthread_create;
}
