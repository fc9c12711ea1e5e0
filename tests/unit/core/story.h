/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stories as texts, for the stages of this folder: lines at the margin are events, indented ones
 * what comes of them. A stage plays each event and says what came; the whole text is compared.
 *
 * One story at a time; what is said is kept here.
 */
#ifndef ALIQUOT_TEST_STORY_H
#define ALIQUOT_TEST_STORY_H

#include <stddef.h>

#define STORY_WORDS 32u

/* An event. Words that it lacks are empty; they last as long as the line. */
struct story_line {
        char copy[256];
        const char *word[STORY_WORDS];
        unsigned count;
};

/* Fails the test when what was said is not what the text says. */
void story_play(const char *text, void (*play)(const struct story_line *line));

void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* How much was said; and what was said since is not in the text. */
size_t story_length(void);
void story_cut(size_t length);

#endif
