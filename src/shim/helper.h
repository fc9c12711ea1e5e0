/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper: our one thread in a program. It is named `aliquot` and blocks every signal. It starts
 * when there is first work to do after a call has returned, and again in a child that needs it.
 *
 * It runs its task, which returns the time of the next run, and sleeps. It touches the driver only
 * inside the task, and no task runs once the program exits.
 */
#ifndef ALIQUOT_SHIM_HELPER_H
#define ALIQUOT_SHIM_HELPER_H

#include <stdbool.h>
#include <stdint.h>

/* Returns the time of the next run; CLOCK_NEVER: at the next helper_kick(). */
typedef uint64_t helper_task(uint64_t now_ns);

/* Starts the thread, or wakes it if it sleeps without a time. A program that cannot have more
 * threads runs without it, and the next call tries again. True: the thread runs or begins to. One
 * task a process. Any thread; keeps errno. */
bool helper_kick(helper_task *task);

/* Whether the helper runs or is about to. False: it could not be started, or the program exits. */
bool helper_runs(void);

/* The helper also runs when this word changes and is woken. Two words a process, in shared memory;
 * a word may be given twice. A forked child must call this again. */
void helper_watch(const _Atomic uint32_t *word);

/* Asks whether the helper's task is in the middle of work. At the program's exit the exiting thread
 * runs the task until the answer is no. One question a process. */
typedef bool helper_question(void);
void helper_finish(helper_question *is_unfinished);

/* Whether the calling thread is the helper. */
bool helper_is_this(void);

#endif
