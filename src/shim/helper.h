/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper: our one thread in a program. It is named `aliquot` and blocks every signal. It starts
 * when there is work for the first time after a call has returned, and again in a child process
 * that needs it.
 *
 * The helper runs its task, which returns the time of the next run, and sleeps until then. It calls
 * the driver only inside the task, and no task runs once the program exits.
 */
#ifndef ALIQUOT_SHIM_HELPER_H
#define ALIQUOT_SHIM_HELPER_H

#include <stdbool.h>
#include <stdint.h>

/* The helper's work. Returns the time of its next run; CLOCK_NEVER: at the next helper_kick(). */
typedef uint64_t helper_task(uint64_t now_ns);

/* Starts the thread, or wakes it if it sleeps without a time. If a program cannot have more
 * threads, it runs without the helper, and the next call tries again. Returns true if the thread
 * runs or is starting. A process has one task. Any thread may call; errno is kept. */
bool helper_kick(helper_task *task);

/* Whether the helper runs or is starting. False if it could not be started, or if the program
 * exits. */
bool helper_runs(void);

/* Makes the helper also run its task when this word changes and is woken as a futex. A process
 * can have two words, in shared memory; giving a word twice does no harm. A forked child must
 * call this again. */
void helper_watch(const _Atomic uint32_t *word);

/* Whether the helper's task is in the middle of work. At the program's exit the exiting thread
 * runs the task until the answer is no. A process has one such question. */
typedef bool helper_question(void);
void helper_finish(helper_question *is_unfinished);

/* Whether the calling thread is the helper. */
bool helper_is_this(void);

#endif
