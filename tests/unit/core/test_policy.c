/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rule decides: of each key by itself the nearest, and of those that are equally near the
 * most generous. The last story asks at random and compares with a model that is written otherwise.
 */
#include "core/policy.h"

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define GIB (UINT64_C(1) << 30)
#define ROUNDS 20000u

static struct policy policy;
static struct policy_cards cards;
static struct policy_grant grant;

static struct policy_rule *add_rule(enum policy_kind kind, const char *name, uint32_t id)
{
        struct policy_rule *rule = &policy.rule[policy.count++];

        memset(rule, 0, sizeof(*rule));
        rule->kind = kind;
        snprintf(rule->name, sizeof(rule->name), "%s", name);
        rule->id = id;
        return rule;
}

static void bound(struct policy_rule *rule, enum policy_key key, uint64_t most)
{
        rule->said |= UINT32_C(1) << key;
        rule->most[key] = most;
}

static void name_gpu(struct policy_rule *rule, uint8_t first, unsigned digits)
{
        struct policy_gpu *gpu = &rule->gpu[rule->gpu_count++];

        rule->said |= UINT32_C(1) << POLICY_GPUS;
        memset(gpu->uuid, first, sizeof(gpu->uuid));
        gpu->digits = (uint8_t)digits;
}

static int begin(void **state)
{
        memset(&policy, 0, sizeof(policy));
        cards = (struct policy_cards){ .count = 2, .largest_bytes = 16 * GIB };
        memset(cards.uuid[0], 0xab, 16);
        memset(cards.uuid[1], 0xac, 16);
        return 0;
}

static void resolve(uint32_t uid, const uint32_t *group, unsigned count, const char *profile)
{
        const struct policy_who who = { uid, group, count, profile };

        policy_resolve(&policy, &who, &cards, &grant);
}

static void expect(enum policy_key key, uint64_t most, uint64_t rules)
{
        assert_int_equal(grant.most[key], most);
        assert_int_equal(grant.rules[key], rules);
}

/* -- Stories ---------------------------------------------------------------------------------- */

static void a_key_that_no_rule_has_is_not_bounded(void **state)
{
        bound(add_rule(POLICY_EVERYBODY, "", 0), POLICY_MEMORY, 4 * GIB);
        resolve(1000, NULL, 0, NULL);
        expect(POLICY_MEMORY, 4 * GIB, 1);
        expect(POLICY_PRIORITY, POLICY_ANY, 0);
}

static void the_nearest_rule_decides_whether_it_allows_more_or_less(void **state)
{
        static const uint32_t groups[] = { 50 };

        bound(add_rule(POLICY_PROFILE, "small", 0), POLICY_MEMORY, 1 * GIB);
        bound(add_rule(POLICY_USER, "1000", 1000), POLICY_MEMORY, 8 * GIB);
        bound(add_rule(POLICY_GROUP, "50", 50), POLICY_MEMORY, 2 * GIB);
        bound(add_rule(POLICY_EVERYBODY, "", 0), POLICY_MEMORY, 4 * GIB);

        resolve(1000, groups, 1, "small");
        expect(POLICY_MEMORY, 1 * GIB, 1 << 0);
        resolve(1000, groups, 1, NULL);
        expect(POLICY_MEMORY, 8 * GIB, 1 << 1);
        resolve(1001, groups, 1, NULL);
        expect(POLICY_MEMORY, 2 * GIB, 1 << 2);
        resolve(1001, NULL, 0, NULL);
        expect(POLICY_MEMORY, 4 * GIB, 1 << 3);
}

static void each_key_is_decided_by_itself(void **state)
{
        bound(add_rule(POLICY_EVERYBODY, "", 0), POLICY_MEMORY, 4 * GIB);
        bound(add_rule(POLICY_USER, "1000", 1000), POLICY_PRIORITY, 2);
        bound(&policy.rule[0], POLICY_PRIORITY, 1);

        resolve(1000, NULL, 0, NULL);
        expect(POLICY_MEMORY, 4 * GIB, 1 << 0);
        expect(POLICY_PRIORITY, 2, 1 << 1);
}

static void of_several_groups_the_most_generous_decides(void **state)
{
        static const uint32_t groups[] = { 50, 60 };

        bound(add_rule(POLICY_GROUP, "50", 50), POLICY_MEMORY, 2 * GIB);
        bound(add_rule(POLICY_GROUP, "60", 60), POLICY_MEMORY, 6 * GIB);
        bound(&policy.rule[0], POLICY_PRIORITY, 2);
        bound(&policy.rule[1], POLICY_PRIORITY, 0);

        resolve(1000, groups, 2, NULL);
        expect(POLICY_MEMORY, 6 * GIB, 1 << 1);
        expect(POLICY_PRIORITY, 2, 1 << 0);
}

static void gpus_of_several_groups_are_put_together(void **state)
{
        static const uint32_t groups[] = { 50, 60 };

        name_gpu(add_rule(POLICY_GROUP, "50", 50), 0xab, 32);
        name_gpu(add_rule(POLICY_GROUP, "60", 60), 0xac, 32);
        resolve(1000, groups, 2, NULL);
        expect(POLICY_GPUS, 3, 3);
        resolve(1000, groups, 1, NULL);
        expect(POLICY_GPUS, 1, 1);
}

static void a_gpu_is_known_by_the_beginning_of_its_uuid(void **state)
{
        name_gpu(add_rule(POLICY_EVERYBODY, "", 0), 0xab, 1);
        resolve(1000, NULL, 0, NULL);
        expect(POLICY_GPUS, 3, 1); /* both begin with a */
        policy.rule[0].gpu[0].digits = 2;
        resolve(1000, NULL, 0, NULL);
        expect(POLICY_GPUS, 1, 1);
        policy.rule[0].gpu[0].digits = 3;
        resolve(1000, NULL, 0, NULL);
        expect(POLICY_GPUS, 1, 1);
        policy.rule[0].gpu[0].uuid[1] = 0x00;
        resolve(1000, NULL, 0, NULL);
        expect(POLICY_GPUS, 0, 1);
}

static void a_percentage_is_of_the_largest_card_and_no_bound_before_one_is_known(void **state)
{
        struct policy_rule *rule = add_rule(POLICY_EVERYBODY, "", 0);

        bound(rule, POLICY_MEMORY, 150);
        rule->of_card = UINT32_C(1) << POLICY_MEMORY;
        resolve(1000, NULL, 0, NULL);
        expect(POLICY_MEMORY, 24 * GIB, 1);
        cards.largest_bytes = 0;
        resolve(1000, NULL, 0, NULL);
        expect(POLICY_MEMORY, POLICY_ANY, 1);
        rule->most[POLICY_MEMORY] = POLICY_ANY;
        cards.largest_bytes = UINT64_MAX;
        resolve(1000, NULL, 0, NULL);
        expect(POLICY_MEMORY, POLICY_ANY, 1);
}

static void what_was_had_before_is_no_excess(void **state)
{
        uint64_t asked[POLICY_KEYS] = { 0 }, had[POLICY_KEYS] = { 0 };

        bound(add_rule(POLICY_EVERYBODY, "", 0), POLICY_MEMORY, 4 * GIB);
        name_gpu(&policy.rule[0], 0xab, 32);
        resolve(1000, NULL, 0, NULL);
        asked[POLICY_MEMORY] = 4 * GIB;
        asked[POLICY_GPUS] = 1;
        assert_int_equal(policy_find_excess(&grant, asked, had), POLICY_KEYS);
        asked[POLICY_MEMORY] = 4 * GIB + 1;
        assert_int_equal(policy_find_excess(&grant, asked, had), POLICY_MEMORY);
        had[POLICY_MEMORY] = 4 * GIB + 1;
        assert_int_equal(policy_find_excess(&grant, asked, had), POLICY_KEYS);
        asked[POLICY_GPUS] = 3;
        assert_int_equal(policy_find_excess(&grant, asked, had), POLICY_GPUS);
        had[POLICY_GPUS] = 2;
        assert_int_equal(policy_find_excess(&grant, asked, had), POLICY_KEYS);
}

/* -- At random, beside a model ---------------------------------------------------------------- */

static uint64_t random_state;

/* SplitMix64. */
static uint64_t random_below(uint64_t most)
{
        uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        return (z ^ z >> 31) % most;
}

#define NAMES 3u
static const char *const profiles[NAMES] = { "p", "q", "r" };

static void make_rules(void)
{
        begin(NULL);
        policy.count = 0;
        for (uint64_t i = random_below(10); i > 0; i--) {
                uint32_t id = (uint32_t)random_below(NAMES);
                struct policy_rule *rule =
                        add_rule((enum policy_kind)random_below(POLICY_KINDS), profiles[id], id);

                for (unsigned key = POLICY_MEMORY; key < POLICY_KEYS; key++) {
                        if (random_below(2))
                                bound(rule, (enum policy_key)key,
                                      random_below(4) ? random_below(5) : POLICY_ANY);
                }
        }
}

/* The model: one kind after the other, from the nearest, and in each the largest number. */
static bool model_of(enum policy_kind kind, const bool *is_mine, unsigned key, uint64_t *ret)
{
        bool is_there = false;

        for (unsigned i = 0; i < policy.count; i++) {
                const struct policy_rule *rule = &policy.rule[i];

                if (rule->kind != kind || !is_mine[i] || !(rule->said >> key & 1))
                        continue;
                if (!is_there || rule->most[key] > *ret)
                        *ret = rule->most[key];
                is_there = true;
        }
        return is_there;
}

static void the_grant_is_the_models_whatever_the_rules_and_their_order(void **state)
{
        for (unsigned round = 0; round < ROUNDS; round++) {
                const uint32_t uid = (uint32_t)random_below(NAMES);
                const uint32_t groups[] = { (uint32_t)random_below(NAMES),
                                            (uint32_t)random_below(NAMES) };
                const unsigned group_count = (unsigned)random_below(3);
                const char *profile = random_below(2) ? profiles[random_below(NAMES)] : NULL;
                bool is_mine[POLICY_RULES_MAX];

                make_rules();
                resolve(uid, groups, group_count, profile);
                for (unsigned i = 0; i < policy.count; i++) {
                        const struct policy_rule *rule = &policy.rule[i];

                        if (profile)
                                is_mine[i] = rule->kind == POLICY_PROFILE &&
                                             strcmp(rule->name, profile) == 0;
                        else
                                is_mine[i] = rule->kind == POLICY_EVERYBODY ||
                                             (rule->kind == POLICY_USER && rule->id == uid) ||
                                             (rule->kind == POLICY_GROUP && group_count > 0 &&
                                              rule->id == groups[0]) ||
                                             (rule->kind == POLICY_GROUP && group_count > 1 &&
                                              rule->id == groups[1]);
                }
                for (unsigned key = POLICY_MEMORY; key < POLICY_KEYS; key++) {
                        uint64_t most = POLICY_ANY;
                        bool is_ruled = model_of(POLICY_PROFILE, is_mine, key, &most) ||
                                        model_of(POLICY_USER, is_mine, key, &most) ||
                                        model_of(POLICY_GROUP, is_mine, key, &most) ||
                                        model_of(POLICY_EVERYBODY, is_mine, key, &most);

                        assert_int_equal(grant.most[key], most);
                        assert_int_equal(grant.rules[key] != 0, is_ruled);
                }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(a_key_that_no_rule_has_is_not_bounded, begin),
                cmocka_unit_test_setup(the_nearest_rule_decides_whether_it_allows_more_or_less,
                                       begin),
                cmocka_unit_test_setup(each_key_is_decided_by_itself, begin),
                cmocka_unit_test_setup(of_several_groups_the_most_generous_decides, begin),
                cmocka_unit_test_setup(gpus_of_several_groups_are_put_together, begin),
                cmocka_unit_test_setup(a_gpu_is_known_by_the_beginning_of_its_uuid, begin),
                cmocka_unit_test_setup(
                        a_percentage_is_of_the_largest_card_and_no_bound_before_one_is_known,
                        begin),
                cmocka_unit_test_setup(what_was_had_before_is_no_excess, begin),
                cmocka_unit_test_setup(the_grant_is_the_models_whatever_the_rules_and_their_order,
                                       begin),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
