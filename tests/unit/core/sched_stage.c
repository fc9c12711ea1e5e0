/* SPDX-License-Identifier: Apache-2.0 */
#include "sched_stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/sched.h"
#include "story.h"

static struct {
        struct sched sched;
        struct sched_actions actions;
        int64_t now_ns;
        bool is_prompt[26];
} stage;

static void say_time(int64_t ns)
{
        if (ns == SCHED_NEVER)
                say("never");
        else if (ns % SCHED_MS == 0)
                say(ns == 0 ? "0" : "%" PRId64 "ms", ns / SCHED_MS);
        else if (ns % SCHED_US == 0)
                say("%" PRId64 "us", ns / SCHED_US);
        else
                say("%" PRId64 "ns", ns);
}

/* -- What comes ------------------------------------------------------------------------------- */

static void say_target(int64_t usual_ns, int64_t target_ns)
{
        if (target_ns == usual_ns)
                return;
        say(" (");
        if (target_ns == 0)
                say("any");
        else
                say_time(target_ns);
        say(" in flight)");
}

static void say_action(const struct sched_action *action)
{
        static const char *const words[] = { "free", "open", "close", "alarm" };

        say("%s %c", words[action->type], 'a' + action->member);
        if (action->type == SCHED_OPEN) {
                say(" until ");
                say_time(action->end_ns);
                say_target(SCHED_TARGET_LEASED_NS, action->target_ns);
        }
        if (action->type == SCHED_FREE)
                say_target(0, action->target_ns);
}

static void say_actions(const char *before)
{
        for (unsigned i = 0; i < stage.actions.count; i++) {
                say("%s", i == 0 ? before : ", ");
                say_action(&stage.actions.action[i]);
        }
        if (stage.actions.count > 0)
                say("\n");
}

static void step(const struct sched_event *event, const char *before)
{
        struct sched_actions *actions = &stage.actions;
        uint32_t closed[26];
        unsigned count = 0;

        sched_step(&stage.sched, event, stage.now_ns, actions);
        if (actions->refused)
                say("  refused: %s\n", actions->refused);
        say_actions(before);
        for (unsigned i = 0; i < actions->count; i++) {
                enum sched_action_type type = actions->action[i].type;

                if (type == SCHED_CLOSE && stage.is_prompt[actions->action[i].member])
                        closed[count++] = actions->action[i].member;
        }
        for (unsigned i = 0; i < count; i++) {
                const struct sched_event drained = { .type = SCHED_DRAINED, .member = closed[i] };

                step(&drained, "  then ");
        }
}

/* -- What a line says ------------------------------------------------------------------------- */

static int64_t time_of(const char *word)
{
        char *unit;
        int64_t number = strtoll(word, &unit, 10);

        if (strcmp(unit, "ms") == 0)
                return number * SCHED_MS;
        if (strcmp(unit, "us") == 0)
                return number * SCHED_US;
        assert_true(strcmp(unit, "ns") == 0 || number == 0);
        return number;
}

static bool has_prefix(const char *word, const char *prefix, const char **ret)
{
        size_t bytes = strlen(prefix);

        *ret = word + bytes;
        return strncmp(word, prefix, bytes) == 0;
}

static bool read_term(const char *word, struct sched_terms *terms)
{
        const char *rest;

        if (has_prefix(word, "cap=", &rest))
                terms->cap_ppm = (uint32_t)(atof(rest) * 10000 + 0.5);
        else if (has_prefix(word, "owed=", &rest))
                terms->guarantee_ppm = (uint32_t)atoi(rest) * 10000;
        else if (has_prefix(word, "weight=", &rest))
                terms->weight = (uint32_t)atoi(rest);
        else if (has_prefix(word, "gang=", &rest))
                terms->gang = (uint32_t)atoi(rest);
        else if (strcmp(word, "rt") == 0)
                terms->class = SCHED_CLASS_RT;
        else if (strcmp(word, "batch") == 0)
                terms->class = SCHED_CLASS_BATCH;
        else if (strcmp(word, "normal") == 0)
                terms->class = SCHED_CLASS_NORMAL;
        else
                return false;
        return true;
}

static void read_terms(const struct story_line *line, struct sched_event *event)
{
        const struct sched_terms usual = { .cap_ppm = SCHED_WHOLE_PPM,
                                           .weight = 100,
                                           .class = SCHED_CLASS_NORMAL };
        bool is_known = event->type == SCHED_CHANGE;

        event->terms = is_known ? stage.sched.member[event->member].terms : usual;
        for (unsigned i = 2; i < line->count; i++) {
                const char *rest;

                if (has_prefix(line->word[i], "on=", &rest))
                        event->device = (uint8_t)atoi(rest);
                else if (!read_term(line->word[i], &event->terms))
                        fail_msg("no such term: %s", line->word[i]);
        }
}

static bool read_event(const struct story_line *line, struct sched_event *event)
{
        static const char *const words[] = { "add",   "change", "remove", "want",    "idle",
                                             "began", "missed", "used",   "drained", "tick" };

        for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
                if (strcmp(line->word[0], words[i]) != 0)
                        continue;
                *event = (struct sched_event){ .type = i };
                event->member = (uint32_t)(line->word[1][0] - 'a');
                if (event->type == SCHED_USED || event->type == SCHED_BEGAN ||
                    event->type == SCHED_MISSED)
                        event->ns = time_of(line->word[2]);
                if (event->type == SCHED_ADD || event->type == SCHED_CHANGE)
                        read_terms(line, event);
                return true;
        }
        return false;
}

/* -- Besides events --------------------------------------------------------------------------- */

static void show(unsigned i)
{
        const struct sched_member *member = &stage.sched.member[i];

        say("  held ");
        say_time(member->held_ns);
        say(", billed ");
        say_time(member->billed_ns);
        say(", bucket ");
        say_time(sched_bucket_ns(&stage.sched, i));
        say(", waited ");
        say_time(member->wait_ns);
        say(", throttled ");
        say_time(member->throttled_ns);
        say(", overran ");
        say_time(member->overrun_ns);
        say("\n");
}

static void pass_time(int64_t until_ns)
{
        const struct sched_event tick = { .type = SCHED_TICK };
        int64_t due_ns;

        while ((due_ns = sched_next_ns(&stage.sched)) <= until_ns) {
                char before[32];

                assert_true(due_ns > stage.now_ns);
                stage.now_ns = due_ns;
                if (due_ns % SCHED_MS == 0)
                        snprintf(before, sizeof(before), "  %" PRId64 "ms: ", due_ns / SCHED_MS);
                else
                        snprintf(before, sizeof(before), "  %" PRId64 "ns: ", due_ns);
                step(&tick, before);
        }
        stage.now_ns = until_ns;
}

static void play_besides(const struct story_line *line)
{
        const char *word = line->word[0];
        unsigned member = (unsigned)(line->word[1][0] - 'a') % 26;

        if (strcmp(word, "to") == 0) {
                pass_time(time_of(line->word[1]));
        } else if (strcmp(word, "skip") == 0) {
                size_t length = story_length();

                pass_time(time_of(line->word[1]));
                story_cut(length);
        } else if (strcmp(word, "away") == 0) {
                stage.now_ns = time_of(line->word[1]);
                sched_skip(&stage.sched, stage.now_ns);
        } else if (strcmp(word, "unseen") == 0) {
                stage.sched.unseen_ns = time_of(line->word[1]);
        } else if (strcmp(word, "prompt") == 0) {
                stage.is_prompt[member] = true;
        } else if (strcmp(word, "next") == 0) {
                say("  ");
                say_time(sched_next_ns(&stage.sched));
                say("\n");
        } else if (strcmp(word, "show") == 0) {
                show(member);
        } else {
                fail_msg("no such event: %s", word);
        }
}

static void play(const struct story_line *line)
{
        struct sched_event event;

        if (read_event(line, &event))
                step(&event, "  ");
        else
                play_besides(line);
}

void play_sched(const char *text)
{
        memset(&stage, 0, sizeof(stage));
        sched_init(&stage.sched);
        story_play(text, play);
}
