/* SPDX-License-Identifier: Apache-2.0 */
#include "sessions_stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sessions_world.h"
#include "story.h"

#define SECOND UINT64_C(1000000000)

static struct {
        struct sessions node;
        struct world world;
        struct policy rules;
        uint32_t group[8]; /* of who asks in this event */
        uint64_t now_ns;
        unsigned carried_out; /* of the actions of the next event, the first so many */
        bool is_crash;        /* and then a crash */
} stage;

static struct sessions spare;

static void say_bytes(uint64_t bytes)
{
        if (bytes % (1u << 30) == 0)
                say("%" PRIu64 "G", bytes >> 30);
        else
                say("%" PRIu64, bytes);
}

/* -- What comes ------------------------------------------------------------------------------- */

static void say_limits(const struct sessions_one *one)
{
        for (unsigned i = 0; i < one->share_count; i++) {
                say("%s%c=", i == 0 ? "(" : " ", one->share[i].uuid[0]);
                say_bytes(one->share[i].memory_bytes);
        }
        say(")");
}

static void say_action(const struct sessions_action *action)
{
        static const char *const words[] = { "save",    "make",   "limit",  "shut", "sigterm",
                                             "sigkill", "forget", "remove", "tell" };
        static const char *const notes[] = { "created",  "changed",    "renewed", "expired",
                                             "released", "terminated", "killed",  "gone",
                                             "gpu-here", "gpu-gone" };

        say(" %s", words[action->type]);
        if (action->type == SESSIONS_TELL)
                say("(%s)", notes[action->note]);
        if (action->type == SESSIONS_MAKE || action->type == SESSIONS_LIMIT)
                say_limits(action->session);
}

static bool is_gpu_told(const struct sessions_actions *actions)
{
        return actions->answer == SESSIONS_NO_ROOM || actions->answer == SESSIONS_NO_GPU;
}

static const char *const kinds[] = { "everybody", "group", "user", "profile", NULL };
static const char *const keys[] = { "gpus",   "memory",   "memory-in-all", "compute", "guarantee",
                                    "weight", "priority", "sessions",      "ttl",     "swap",
                                    NULL };

static void say_amount(enum policy_key key, uint64_t amount)
{
        if (amount == POLICY_ANY)
                say("any");
        else if (key == POLICY_TTL)
                say("%" PRIu64, amount / SECOND);
        else
                say_bytes(amount);
}

/* `: memory asks 5G, most 4G by user 1000` */
static void say_excess(const struct sessions_excess *excess)
{
        say(": %s asks ", keys[excess->key]);
        say_amount(excess->key, excess->asked);
        say(", most ");
        say_amount(excess->key, excess->most);
        for (unsigned i = 0; i < stage.node.rules.count; i++) {
                const struct policy_rule *rule = &stage.node.rules.rule[i];

                if (excess->rules & UINT64_C(1) << i)
                        say(" by %s%s%s", kinds[rule->kind], rule->name[0] ? " " : "", rule->name);
        }
}

static void say_actions(const struct sessions_actions *actions)
{
        static const char *const answers[] = { "yes",    "no-room",  "no-gpu", "no-time",
                                               "exists", "unknown",  "stale",  "busy",
                                               "full",   "too-long", "ruled",  "closed",
                                               "bad" };

        say("  %s", answers[actions->answer]);
        if (actions->field)
                say(" %s", actions->field);
        if (is_gpu_told(actions)) {
                say(": %c wants ", actions->gpu[0] ? actions->gpu[0] : '-');
                say_bytes(actions->wanted_bytes);
                say(", free ");
                say_bytes(actions->free_bytes);
        }
        if (actions->answer == SESSIONS_RULED)
                say_excess(&actions->excess);
        if (actions->answer == SESSIONS_NO_TIME)
                say(": %c, free %u", actions->gpu[0], actions->free_milli_percent);
        if (actions->count > 0 && actions->session)
                say(", %s:", actions->session->name);
        for (unsigned i = 0; i < actions->count; i++)
                say_action(&actions->action[i]);
        say("%s\n", actions->is_more ? ", more" : "");
}

static void step(const struct sessions_event *event)
{
        struct sessions_actions actions;

        sessions_step(&stage.node, event, stage.now_ns, &actions);
        say_actions(&actions);
        for (unsigned i = 0; i < actions.count && i < stage.carried_out; i++)
                world_carry_out(&stage.world, &actions.action[i]);
        if (stage.is_crash) {
                spare = stage.node;
                world_restart(&stage.world, &spare, &stage.node);
        }
        stage.carried_out = SESSIONS_ACTIONS;
        stage.is_crash = false;
}

static void try(const struct sessions_event *event)
{
        struct sessions_actions actions;

        sessions_try(&stage.node, event, &actions);
        say_actions(&actions);
}

/* -- What is said ----------------------------------------------------------------------------- */

/* Behind the event's name: words, and word=value. */
static const char *value_of(const struct story_line *line, const char *word)
{
        size_t bytes = strlen(word);

        for (unsigned i = 1; i < line->count; i++) {
                if (strncmp(line->word[i], word, bytes) == 0 && line->word[i][bytes] == '=')
                        return line->word[i] + bytes + 1;
        }
        return NULL;
}

static bool has_word(const struct story_line *line, const char *word)
{
        for (unsigned i = 1; i < line->count; i++) {
                if (strcmp(line->word[i], word) == 0)
                        return true;
        }
        return false;
}

static uint64_t number_of(const struct story_line *line, const char *word, uint64_t without)
{
        const char *value = value_of(line, word);

        return value ? strtoull(value, NULL, 10) : without;
}

/* `max` is as long, or as much, as 64 bits can say. */
static uint64_t scaled(const char *value, uint64_t scale)
{
        return strcmp(value, "max") == 0 ? UINT64_MAX : strtoull(value, NULL, 10) * scale;
}

static uint64_t time_of(const struct story_line *line, const char *word)
{
        const char *value = value_of(line, word);

        return value ? scaled(value, SECOND) : 0; /* "none" is no number: 0 */
}

static uint64_t bytes_of(const char *value)
{
        return scaled(value, strchr(value, 'G') ? UINT64_C(1) << 30 : 1);
}

static unsigned choice_of(const char *const *words, const char *value)
{
        unsigned i = 0;

        while (strcmp(words[i], value) != 0)
                assert_non_null(words[++i]);
        return i;
}

static const char *const endings[] = { "deny-new", "term", "kill", NULL };
static const char *const choices[] = { "best-fit", "least-loaded", NULL };
static const char *const overcommits[] = { "strict", "ratio", "none", NULL };

static unsigned chosen(const struct story_line *line, const char *word, const char *const *words)
{
        const char *value = value_of(line, word);

        return value ? choice_of(words, value) : 0;
}

/* -- Events ----------------------------------------------------------------------------------- */

static void read_policy(const struct story_line *line, struct sessions_event *event)
{
        const char *reserve = value_of(line, "reserve");

        event->type = SESSIONS_POLICY;
        event->policy = (struct sessions_policy){
                .overcommit = choice_of(overcommits, line->word[1]),
                .ratio_percent = (uint32_t)number_of(line, "percent", 0),
                .reserve_bytes = reserve ? bytes_of(reserve) : 0,
                .ending = chosen(line, "end", endings),
                .choice = chosen(line, "choice", choices),
                .ttl_ns = time_of(line, "ttl"),
                .ttl_max_ns = time_of(line, "most"),
                .grace_ns = time_of(line, "grace"),
                .owner_max = (uint32_t)number_of(line, "owner-most", 0),
        };
}

/* Cards by their letters: gpus=AB. */
static void read_rule_gpus(const char *letters, struct policy_rule *rule)
{
        for (; *letters; letters++) {
                struct policy_gpu *gpu = &rule->gpu[rule->gpu_count++];

                memset(gpu->uuid, *letters, sizeof(gpu->uuid));
                gpu->digits = 32;
        }
}

static void read_bound(const char *word, const char *value, struct policy_rule *rule)
{
        enum policy_key key = (enum policy_key)choice_of(keys, word);

        rule->said |= UINT32_C(1) << key;
        if (strchr(value, '%'))
                rule->of_card |= UINT32_C(1) << key;
        if (key == POLICY_GPUS)
                read_rule_gpus(value, rule);
        else if (strcmp(value, "any") == 0)
                rule->most[key] = POLICY_ANY;
        else
                rule->most[key] = key == POLICY_TTL ? scaled(value, SECOND) : bytes_of(value);
}

/* Bounds behind the kind, and behind who it is: rule user 1000 memory=4G. */
static void read_rule(const struct story_line *line, struct sessions_event *event)
{
        struct policy_rule *rule = &stage.rules.rule[stage.rules.count++];
        unsigned first = 2;

        rule->kind = (enum policy_kind)choice_of(kinds, line->word[1]);
        if (rule->kind != POLICY_EVERYBODY) {
                strcpy(rule->name, line->word[first++]);
                rule->id = (uint32_t)strtoul(rule->name, NULL, 10);
        }
        for (unsigned i = first; i < line->count; i++) {
                char word[32];
                size_t bytes = strcspn(line->word[i], "=");

                assert_true(bytes < sizeof(word));
                memcpy(word, line->word[i], bytes);
                word[bytes] = '\0';
                read_bound(word, line->word[i] + bytes + 1, rule);
        }
        event->type = SESSIONS_POLICY;
        event->policy = stage.node.policy;
        event->rules = &stage.rules;
}

/* group=7,8 */
static void read_groups(const struct story_line *line, struct sessions_event *event)
{
        const char *at = value_of(line, "group");
        char *end;

        event->group = stage.group;
        for (; at && *at; at = *end ? end + 1 : end)
                stage.group[event->group_count++] = (uint32_t)strtoul(at, &end, 10);
        event->profile = value_of(line, "profile");
}

static void read_gpu(const struct story_line *line, struct sessions_event *event)
{
        event->type = line->count > 2 ? SESSIONS_GPU_HERE : SESSIONS_GPU_GONE;
        memset(event->gpu.uuid, line->word[1][0], sizeof(event->gpu.uuid));
        if (line->count > 2)
                event->gpu.card_bytes = bytes_of(line->word[2]);
}

/* A=4G or A=4G/50000/25000 (thousandths of a percent: cap, guarantee); `any` for A: chosen. */
static void read_share(const char *word, struct sessions_event *event, struct sessions_one *one)
{
        struct sessions_share *share = &one->share[one->share_count++];
        bool is_any = strncmp(word, "any=", 4) == 0;
        const char *compute = strchr(word, '/');

        event->wish.is_chosen_here |= is_any;
        memset(share->uuid, is_any ? 0 : word[0], sizeof(share->uuid));
        share->memory_bytes = bytes_of(strchr(word, '=') + 1);
        event->change_bits |= SESSIONS_HAS_MEMORY;
        if (!compute)
                return;
        event->change_bits |= SESSIONS_HAS_COMPUTE;
        share->compute_milli_percent = (uint32_t)strtoul(compute + 1, NULL, 10);
        compute = strchr(compute + 1, '/');
        share->guarantee_milli_percent = compute ? (uint32_t)strtoul(compute + 1, NULL, 10) : 0;
}

static void read_wish(const struct story_line *line, struct sessions_wish *wish)
{
        const char *free_least = value_of(line, "free");

        wish->has_choice = value_of(line, "choice") != NULL;
        wish->choice = (uint8_t)chosen(line, "choice", choices);
        wish->free_min_bytes = free_least ? bytes_of(free_least) : 0;
}

static void read_fields(const struct story_line *line, struct sessions_event *event,
                        struct sessions_one *one)
{
        static const struct {
                const char *word;
                uint32_t bit;
        } fields[] = { { "ttl", SESSIONS_HAS_TTL },           { "end", SESSIONS_HAS_ENDING },
                       { "labels", SESSIONS_HAS_LABELS },     { "weight", SESSIONS_HAS_WEIGHT },
                       { "priority", SESSIONS_HAS_PRIORITY }, { "gang", SESSIONS_HAS_GANG } };

        for (unsigned i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
                if (value_of(line, fields[i].word))
                        event->change_bits |= fields[i].bit;
        }
        one->swaps = has_word(line, "swap");
        one->host_bytes = has_word(line, "host") ? 1 : 0;
        one->ttl_ns = time_of(line, "ttl");
        one->ending = (uint8_t)chosen(line, "end", endings);
        one->weight = (uint32_t)number_of(line, "weight", 100);
        one->priority = (uint8_t)number_of(line, "priority", 1);
        if (value_of(line, "gang") && strcmp(value_of(line, "gang"), "none") != 0)
                strcpy(one->gang, value_of(line, "gang"));
        if (value_of(line, "labels"))
                strcpy(one->labels, value_of(line, "labels"));
}

/* create, change: all that can be said of a session. */
static void read_session(const struct story_line *line, struct sessions_event *event,
                         struct sessions_one *one)
{
        strcpy(one->name, line->count > 1 ? line->word[1] : "");
        one->owner_uid = (uint32_t)number_of(line, "owner", event->uid);
        for (unsigned i = 2; i < line->count; i++) {
                const char *word = line->word[i];

                if ((word[0] >= 'A' && word[0] <= 'Z') || strncmp(word, "any=", 4) == 0)
                        read_share(word, event, one);
        }
        read_fields(line, event, one);
        read_wish(line, &event->wish);
        if (value_of(line, "profile"))
                strcpy(one->container.profile, value_of(line, "profile"));
        event->session = one;
}

static bool read_event(const struct story_line *line, struct sessions_event *event,
                       struct sessions_one *one)
{
        static const struct {
                const char *word;
                enum sessions_event_type type;
        } events[] = { { "create", SESSIONS_CREATE }, { "change", SESSIONS_CHANGE },
                       { "renew", SESSIONS_RENEW },   { "release", SESSIONS_RELEASE },
                       { "empty", SESSIONS_EMPTY },   { "tick", SESSIONS_TICK },
                       { "held", SESSIONS_HELD },     { "fail", SESSIONS_FAILED },
                       { "try", SESSIONS_CREATE } };

        event->uid = (uint32_t)number_of(line, "by", 1000);
        event->is_admin = has_word(line, "admin");
        event->is_forced = has_word(line, "force");
        event->is_unsaved = has_word(line, "unsaved");
        event->version = number_of(line, "version", 0);
        event->ttl_ns = time_of(line, "ttl");
        read_groups(line, event);
        event->name = line->count > 1 ? line->word[1] : "";
        for (unsigned i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
                if (strcmp(line->word[0], events[i].word) != 0)
                        continue;
                event->type = events[i].type;
                read_session(line, event, one);
                return true;
        }
        if (strcmp(line->word[0], "policy") == 0)
                read_policy(line, event);
        else if (strcmp(line->word[0], "rule") == 0)
                read_rule(line, event);
        else if (strcmp(line->word[0], "gpu") == 0 || strcmp(line->word[0], "gone") == 0)
                read_gpu(line, event);
        else
                return false;
        return true;
}

/* -- Besides ---------------------------------------------------------------------------------- */

static void show(const char *name)
{
        const struct sessions_one *one = sessions_find(&stage.node, name);
        char text[WORLD_TEXT_BYTES];

        say("  %s\n", one ? world_describe(one, text) : "no such session");
}

static void show_room(char gpu)
{
        uint8_t uuid[16];

        memset(uuid, gpu, sizeof(uuid));
        say("  promised ");
        say_bytes(sessions_promised(&stage.node, uuid));
        say(", room ");
        say_bytes(sessions_room(&stage.node, uuid));
        say("\n");
}

static void show_next(void)
{
        uint64_t next_ns = sessions_next_ns(&stage.node);

        if (next_ns == 0)
                say("  nothing is due\n");
        else if (next_ns <= stage.now_ns)
                say("  now\n");
        else
                say("  %" PRIu64 "\n", next_ns / SECOND);
}

static void start_program(const struct story_line *line)
{
        struct world_session *found = world_find(&stage.world, line->word[1]);

        assert_non_null(found);
        found->running++;
        found->is_stubborn = has_word(line, "stubborn");
}

static void cut_next(const struct story_line *line)
{
        stage.carried_out = (unsigned)strtoul(line->word[1], NULL, 10);
        stage.is_crash = strcmp(line->word[0], "crash") == 0;
}

static void play_besides(const struct story_line *line)
{
        const char *word = line->word[0];

        if (strcmp(word, "at") == 0)
                stage.now_ns = strtoull(line->word[1], NULL, 10) * SECOND;
        else if (strcmp(word, "crash") == 0 || strcmp(word, "only") == 0)
                cut_next(line);
        else if (strcmp(word, "run") == 0)
                start_program(line);
        else if (strcmp(word, "show") == 0)
                show(line->word[1]);
        else if (strcmp(word, "room") == 0)
                show_room(line->word[1][0]);
        else if (strcmp(word, "next") == 0)
                show_next();
        else
                fail_msg("no such event: %s", word);
}

/* Programs leave by the world's signals; whether some run, the world knows. */
static void play_line(const struct story_line *line)
{
        struct sessions_one one = { .id = { 1 } };
        struct sessions_event event = { 0 };
        struct world_session *found;

        if (!read_event(line, &event, &one)) {
                play_besides(line);
                return;
        }
        found = event.name ? world_find(&stage.world, event.name) : NULL;
        event.is_busy = found && found->running > 0;
        if (event.type == SESSIONS_EMPTY && found)
                found->running = 0;
        if (strcmp(line->word[0], "try") == 0)
                try(&event);
        else
                step(&event);
}

void play(const char *text)
{
        static const struct sessions_policy policy;

        memset(&stage, 0, sizeof(stage));
        sessions_init(&stage.node, &policy);
        stage.now_ns = 1000 * SECOND;
        stage.carried_out = SESSIONS_ACTIONS;
        story_play(text, play_line);
}
