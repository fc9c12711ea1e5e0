/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads that submit, and a fence in all of them at once.
 *
 * A thread stores `calls` and then reads the words of the gate, in that order of the program, with
 * no fence between. Who closes writes a word, calls fence_all(), and then reads `calls`: a thread
 * that is not on its way then sees the new word before its next call. (membarrier(2), private
 * expedited, since Linux 4.14. Where it is barred each thread makes its own fence at each call. No
 * change of a page's protection stands in for it: on aarch64, and on newer x86-64 processors, that
 * interrupts nobody.)
 */
#ifndef ALIQUOT_SHIM_TIME_FENCE_H
#define ALIQUOT_SHIM_TIME_FENCE_H

#include <stdbool.h>
#include <stdint.h>

/* The calling thread is known until it ends; a call in a later destructor, or in a forked child,
 * makes it known again. False: there is no memory, or the C library takes no handler; it may have
 * no credit. */
bool threads_join(void);

void fence_all(void);

/* No thread is on its way to the driver. After fence_all(). False also where that could not be done
 * for all of them: then the next one is. */
bool threads_are_out(void);

/* Whether every thread that ever asked is in the table. */
bool threads_are_all_known(void);

/* Ends every credit that was given under the word, and says whether no thread is past its check. */
bool turn_end(_Atomic uint32_t *epoch);

#endif
