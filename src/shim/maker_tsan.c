/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that ThreadSanitizer did not see made cannot run what it instrumented, so this is its
 * own pthread_create.
 */
#include "shim/maker.h"

thread_maker *maker_find(void)
{
        return pthread_create;
}
