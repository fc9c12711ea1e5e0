/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stories about core/sessions as texts: lines at the margin are events, indented ones what comes of
 * them. play() plays the events and compares the whole text.
 *
 *      gpu A 16G                       a card; its name is one letter
 *      create one A=10G                a session on it
 *        yes, one: save tell(created) make(A=10G)
 *
 * Events: policy, rule, gpu, gone, create, change, renew, release, empty, tick, fail. `rule user
 * 1000 memory=4G` adds a rule; `group=7` and `profile=p` say who asks besides `by=1000`; `try` asks
 * whether a creation would be let. Besides: `at 60`
 * sets the clock (seconds), `run one` starts a program in the pretend world, `show one`, `room A`,
 * `next`. Before an event, `only N`: just the first N of its actions are carried out; `crash N`:
 * and then whoever carried them out starts anew. Each story begins at second 1000 with nothing.
 */
#ifndef ALIQUOT_TEST_SESSIONS_STAGE_H
#define ALIQUOT_TEST_SESSIONS_STAGE_H

/* Fails the test when what comes is not what the text says. */
void play(const char *text);

#endif
