/* SPDX-License-Identifier: Apache-2.0 */
#include "core/policy.h"

#include <string.h>

#include "common/minmax.h"
#include "common/sums.h"

const char *policy_key_name(enum policy_key key)
{
        static const char *const names[POLICY_KEYS] = {
                [POLICY_GPUS] = "gpus",
                [POLICY_MEMORY] = "memory",
                [POLICY_MEMORY_IN_ALL] = "memory_in_all",
                [POLICY_COMPUTE] = "compute",
                [POLICY_GUARANTEE_IN_ALL] = "guarantee_in_all",
                [POLICY_WEIGHT] = "weight",
                [POLICY_PRIORITY] = "priority",
                [POLICY_SESSIONS] = "sessions",
                [POLICY_TTL] = "ttl",
                [POLICY_SWAP] = "swap",
        };

        return names[key];
}

const char *policy_kind_name(enum policy_kind kind)
{
        static const char *const names[POLICY_KINDS] = {
                [POLICY_EVERYBODY] = "",
                [POLICY_GROUP] = "group",
                [POLICY_USER] = "user",
                [POLICY_PROFILE] = "profile",
        };

        return names[kind];
}

static bool is_member(const struct policy_who *who, uint32_t gid)
{
        for (unsigned i = 0; i < who->group_count; i++) {
                if (who->group[i] == gid)
                        return true;
        }
        return false;
}

static bool is_for(const struct policy_rule *rule, const struct policy_who *who)
{
        if (who->profile)
                return rule->kind == POLICY_PROFILE && strcmp(rule->name, who->profile) == 0;
        switch (rule->kind) {
        case POLICY_EVERYBODY:
                return true;
        case POLICY_GROUP:
                return is_member(who, rule->id);
        case POLICY_USER:
                return rule->id == who->uid;
        default:
                return false;
        }
}

static bool begins_with(const uint8_t uuid[16], const struct policy_gpu *gpu)
{
        unsigned bytes = min_u32(gpu->digits, 32) / 2;

        if (memcmp(uuid, gpu->uuid, bytes) != 0)
                return false;
        return gpu->digits % 2 == 0 || uuid[bytes] >> 4 == gpu->uuid[bytes] >> 4;
}

static bool is_named(const struct policy_rule *rule, const uint8_t uuid[16])
{
        for (unsigned i = 0; i < rule->gpu_count; i++) {
                if (begins_with(uuid, &rule->gpu[i]))
                        return true;
        }
        return false;
}

static uint64_t gpus_of(const struct policy_rule *rule, const struct policy_cards *cards)
{
        uint64_t set = 0;

        if (rule->gpu_count == 0)
                return POLICY_ANY;
        for (unsigned i = 0; i < cards->count; i++) {
                if (is_named(rule, cards->uuid[i]))
                        set |= UINT64_C(1) << i;
        }
        return set;
}

static uint64_t bound_of(const struct policy_rule *rule, enum policy_key key,
                         const struct policy_cards *cards)
{
        uint64_t most = rule->most[key];

        if (key == POLICY_GPUS)
                return gpus_of(rule, cards);
        if (most == POLICY_ANY || !(rule->of_card & UINT32_C(1) << key))
                return most;
        if (cards->largest_bytes == 0)
                return POLICY_ANY;
        return sum_of(product_of(cards->largest_bytes / 100, most),
                      product_of(cards->largest_bytes % 100, most) / 100);
}

/* Adds a rule of the same kind as the one that decides so far. For POLICY_GPUS both decide; for
 * other keys the one that allows more. */
static void merge_rule(struct policy_grant *grant, enum policy_key key, uint64_t bound,
                       uint64_t bit)
{
        if (key == POLICY_GPUS) {
                grant->most[key] |= bound;
                grant->rules[key] |= bit;
        } else if (bound > grant->most[key]) {
                grant->most[key] = bound;
                grant->rules[key] = bit;
        }
}

static void resolve_key(const struct policy *policy, const struct policy_who *who,
                        const struct policy_cards *cards, enum policy_key key,
                        struct policy_grant *ret)
{
        enum policy_kind nearest = POLICY_EVERYBODY;

        for (unsigned i = 0; i < policy->count; i++) {
                const struct policy_rule *rule = &policy->rule[i];
                uint64_t bit = UINT64_C(1) << i;

                if (!(rule->said & UINT32_C(1) << key) || !is_for(rule, who))
                        continue;
                if (ret->rules[key] && rule->kind < nearest)
                        continue;
                if (ret->rules[key] && rule->kind == nearest) {
                        merge_rule(ret, key, bound_of(rule, key, cards), bit);
                        continue;
                }
                nearest = rule->kind;
                ret->most[key] = bound_of(rule, key, cards);
                ret->rules[key] = bit;
        }
}

void policy_grant_all(struct policy_grant *ret)
{
        for (unsigned i = 0; i < POLICY_KEYS; i++) {
                ret->most[i] = POLICY_ANY;
                ret->rules[i] = 0;
        }
}

void policy_resolve(const struct policy *policy, const struct policy_who *who,
                    const struct policy_cards *cards, struct policy_grant *ret)
{
        policy_grant_all(ret);
        for (unsigned i = 0; i < POLICY_KEYS; i++)
                resolve_key(policy, who, cards, (enum policy_key)i, ret);
}

enum policy_key policy_find_excess(const struct policy_grant *grant,
                                   const uint64_t asked[POLICY_KEYS],
                                   const uint64_t had[POLICY_KEYS])
{
        for (unsigned i = 0; i < POLICY_KEYS; i++) {
                bool is_more = i == POLICY_GPUS ? asked[i] & ~grant->most[i] & ~had[i]
                                                : asked[i] > grant->most[i] && asked[i] > had[i];

                if (is_more)
                        return (enum policy_key)i;
        }
        return POLICY_KEYS;
}
