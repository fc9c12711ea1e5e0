/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of threads that submit work, and a memory fence in all of them at once.
 *
 * A thread that submits raises its `calls` (credit.h) and then reads the words of the gate, in
 * program order, without a fence between. A thread that closes the gate writes a word, calls
 * fence_all(), and then reads `calls` of all threads. After that, every thread that is not on its
 * way to the driver sees the new word before its next call. (The fence is membarrier(2), private
 * expedited, since Linux 4.14. Where that system call is barred, each thread makes its own fence at
 * each call. Changing a page's protection is no substitute: on aarch64, and on newer x86-64
 * processors, it interrupts no other thread.)
 */
#ifndef ALIQUOT_SHIM_TIME_FENCE_H
#define ALIQUOT_SHIM_TIME_FENCE_H

#include <stdbool.h>
#include <stdint.h>

/* Enters the calling thread into the table until the thread ends. A call in a later destructor,
 * or in a forked child, enters it again. Returns false if there is no memory, or the C library
 * accepts no exit handler; then the thread may have no credit. */
bool threads_join(void);

/* Makes a memory fence in all threads of the process. */
void fence_all(void);

/* Whether no thread is on its way to the driver. Call it after fence_all(). Also returns false
 * if the fence failed for some thread; the next fence then works for all threads. */
bool threads_are_out(void);

/* Whether the table has every thread that ever asked for credit. */
bool threads_are_all_known(void);

/* Ends every credit given under this epoch. Returns true if no thread is past its check. */
bool turn_end(_Atomic uint32_t *epoch);

#endif
