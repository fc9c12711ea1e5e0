/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stories about core/sched as texts: lines at the margin are events, indented ones what comes of
 * them. play_sched() plays the events and compares the whole text.
 *
 *      add a cap=30                    a member; its name is one letter; on device 0
 *        free a (2ms in flight)
 *      want a
 *      to 4ms                          time passes: TICK whenever something is due
 *        2ms: close a, open b until 4ms
 *
 * Events: add and change (on=1 cap=30 owed=20 weight=200 batch rt gang=1), remove, want,
 * idle, began, used a 1500us, drained, tick. Besides:
 * `prompt a`: from now on DRAINED follows each CLOSE of it at once; `next`: when something is due;
 * `show a`: its accounts; `skip 1000ms`: the same as `to`, but what comes is not in the text; `away
 * 1000ms`: nobody looks until then, which is known afterwards; `unseen 100us`: so much of each
 * hand-over is not told.
 * What may be in flight is said where it is not the 2 ms of a lease, or any time in FREE. Each
 * story begins at 0 with nothing.
 */
#ifndef ALIQUOT_TEST_SCHED_STAGE_H
#define ALIQUOT_TEST_SCHED_STAGE_H

/* How many stories begin: two want the device, and a has it. */
#define A_UNTIL_2MS                   \
        "add a\n"                     \
        "  free a\n"                  \
        "add b\n"                     \
        "want a\n"                    \
        "  free a (50ms in flight)\n" \
        "want b\n"                    \
        "  open a until 2ms\n"

/* Fails the test when what comes is not what the text says. */
void play_sched(const char *text);

#endif
