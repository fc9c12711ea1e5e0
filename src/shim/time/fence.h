/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of threads that submit work, and a memory fence in all of them at once.
 *
 * A thread stores `calls` and then reads the words of the gate, in program order, with no fence
 * between. A thread that closes the gate writes a word, calls fence_all(), and then reads `calls`:
 * every thread that is not on its way to the driver then sees the new word before its next call.
 * (The fence is membarrier(2), private expedited, since Linux 4.14. Where that is barred, each
 * thread makes its own fence at each call. Changing a page's protection is no substitute: on
 * aarch64, and on newer x86-64 processors, it interrupts no other thread.)
 */
#ifndef ALIQUOT_SHIM_TIME_FENCE_H
#define ALIQUOT_SHIM_TIME_FENCE_H

#include <stdbool.h>
#include <stdint.h>

/* Enters the calling thread into the table until it ends; a call in a later destructor, or in a
 * forked child, enters it again. False: there is no memory, or the C library takes no exit handler;
 * then the thread may have no credit. */
bool threads_join(void);

void fence_all(void);

/* Whether no thread is on its way to the driver. Call after fence_all(). Also false if the fence
 * failed for some thread; then the next fence works for all. */
bool threads_are_out(void);

/* Whether the table has every thread that ever asked for credit. */
bool threads_are_all_known(void);

/* Ends every credit given under this epoch. True: no thread is past its check. */
bool turn_end(_Atomic uint32_t *epoch);

#endif
