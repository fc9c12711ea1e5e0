/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applies the rules (core/policy.h) to requests. The functions of sessions_ask.c are the only code
 * that gives a session more, and they call this file for every session that is created, changed or
 * renewed.
 *
 * A change is refused only for what it raises: what a session got before a rule came stays.
 */
#include "common/minmax.h"
#include "core/sessions_parts.h"

_Static_assert(POLICY_CARDS_MAX == SESSIONS_GPUS, "each GPU of a node has a bit");

/* -- Whose rules ------------------------------------------------------------------------------ */

/* Whether the requester is exempt from the rules. Root in a container whose request uses a
 * profile is not: it is no administrator of the node. */
static bool is_above_rules(const struct sessions_event *event)
{
        return !event->profile && (event->is_admin || event->uid == 0);
}

static void list_cards(const struct sessions *node, struct policy_cards *ret)
{
        ret->count = node->gpu_count;
        ret->largest_bytes = 0;
        for (unsigned i = 0; i < node->gpu_count; i++) {
                memcpy(ret->uuid[i], node->gpu[i].uuid, sizeof(ret->uuid[i]));
                ret->largest_bytes = max_u64(ret->largest_bytes, node->gpu[i].card_bytes);
        }
}

void sessions_grant(const struct sessions *node, const struct sessions_event *event,
                    struct policy_grant *ret)
{
        const struct policy_who who = { .uid = event->uid,
                                        .group = event->group,
                                        .group_count = event->group_count,
                                        .profile = event->profile };
        struct policy_cards cards;

        if (is_above_rules(event)) {
                policy_grant_all(ret);
                return;
        }
        list_cards(node, &cards);
        policy_resolve(&node->rules, &who, &cards, ret);
}

/* -- What is asked, in the keys of the rules -------------------------------------------------- */

static uint64_t gpus_of(const struct sessions *node, const struct sessions_one *one)
{
        uint64_t set = 0;

        for (unsigned i = 0; i < node->gpu_count; i++) {
                if (share_find(one, node->gpu[i].uuid) < one->share_count)
                        set |= UINT64_C(1) << i;
        }
        return set;
}

/* Returns the largest cap of the session's shares. */
static uint64_t largest_cap_of(const struct sessions_one *one)
{
        uint32_t cap = 0;

        for (unsigned i = 0; i < one->share_count; i++) {
                uint32_t said = one->share[i].compute_milli_percent;

                cap = max_u32(cap, said ? said : SESSIONS_WHOLE_MILLI_PERCENT);
        }
        return cap;
}

/* Sums over sessions that the rules count together. Of those that swap on one GPU the largest
 * counts, as in the promise of the GPU. */
struct sums {
        uint64_t plain_bytes;
        uint64_t swap_bytes[SESSIONS_GPUS];
        uint64_t guarantee_milli_percent;
        uint64_t sessions;
};

static void add_memory(const struct sessions *node, const struct sessions_one *one,
                       const struct sessions_share *share, struct sums *sums)
{
        uint64_t bytes = max_u64(share->ceiling_bytes, share->memory_bytes);

        for (unsigned i = 0; one->swaps && i < node->gpu_count; i++) {
                if (memcmp(node->gpu[i].uuid, share->uuid, sizeof(share->uuid)) == 0) {
                        sums->swap_bytes[i] = max_u64(sums->swap_bytes[i], bytes);
                        return;
                }
        }
        sums->plain_bytes = sum_of(sums->plain_bytes, bytes);
}

static void add_sums(const struct sessions *node, const struct sessions_one *one, struct sums *sums)
{
        for (unsigned i = 0; i < one->share_count; i++) {
                add_memory(node, one, &one->share[i], sums);
                sums->guarantee_milli_percent += one->share[i].guarantee_milli_percent;
        }
        sums->sessions++;
}

/* Whether the rules count the two sessions together: both belong to the same profile, or to the
 * same user and no profile. */
static bool is_with(const struct sessions_one *one, const struct sessions_one *other)
{
        return strcmp(one->container.profile, other->container.profile) == 0 &&
               (one->container.profile[0] || one->owner_uid == other->owner_uid);
}

/* Sums up the sessions that count together with `one`, in the keys of the rules. `one` replaces
 * `but` in the sums. ret[POLICY_GPUS] is left at 0. */
static void sum_with(const struct sessions *node, const struct sessions_one *but,
                     const struct sessions_one *one, uint64_t ret[POLICY_KEYS])
{
        struct sums sums = { 0 };

        memset(ret, 0, POLICY_KEYS * sizeof(ret[0]));
        for (unsigned i = 0; i < one->share_count; i++)
                ret[POLICY_MEMORY] = sum_of(ret[POLICY_MEMORY], one->share[i].memory_bytes);
        ret[POLICY_COMPUTE] = largest_cap_of(one);
        ret[POLICY_WEIGHT] = one->weight;
        ret[POLICY_PRIORITY] = one->priority;
        ret[POLICY_SWAP] = one->swaps;
        add_sums(node, one, &sums);
        for (unsigned i = 0; i < node->entries; i++) {
                const struct sessions_one *other = &node->session[i];

                if (other != but && other->state != SESSIONS_FREE && is_with(one, other))
                        add_sums(node, other, &sums);
        }
        ret[POLICY_MEMORY_IN_ALL] = sums.plain_bytes;
        for (unsigned i = 0; i < node->gpu_count; i++)
                ret[POLICY_MEMORY_IN_ALL] = sum_of(ret[POLICY_MEMORY_IN_ALL], sums.swap_bytes[i]);
        ret[POLICY_GUARANTEE_IN_ALL] = sums.guarantee_milli_percent;
        ret[POLICY_SESSIONS] = sums.sessions;
}

static bool refuse_excess(const struct sessions_step *step, enum policy_key key, uint64_t asked)
{
        static const char *const fields[POLICY_KEYS] = {
                [POLICY_GPUS] = "gpus",
                [POLICY_MEMORY] = "memory",
                [POLICY_MEMORY_IN_ALL] = "memory",
                [POLICY_COMPUTE] = "compute",
                [POLICY_GUARANTEE_IN_ALL] = "guarantee",
                [POLICY_WEIGHT] = "weight",
                [POLICY_PRIORITY] = "priority",
                [POLICY_SESSIONS] = "owner",
                [POLICY_TTL] = "ttl",
                [POLICY_SWAP] = "swap",
        };

        step->ret->excess = (struct sessions_excess){ .key = key,
                                                      .rules = step->grant.rules[key],
                                                      .most = step->grant.most[key],
                                                      .asked = asked };
        return refuse_event(step->ret, SESSIONS_RULED, fields[key]);
}

static bool compare(const struct sessions_step *step, const uint64_t asked[POLICY_KEYS],
                    const uint64_t had[POLICY_KEYS])
{
        enum policy_key key = policy_find_excess(&step->grant, asked, had);

        return key == POLICY_KEYS || refuse_excess(step, key, asked[key]);
}

/* -- What the steps ask ----------------------------------------------------------------------- */

uint64_t ruled_ttl_ns(const struct sessions_step *step)
{
        uint64_t max_ns = step->grant.most[POLICY_TTL];

        if (!step->grant.rules[POLICY_TTL])
                return step->node->policy.ttl_max_ns;
        return max_ns == POLICY_ANY ? 0 : max_ns;
}

bool ruled_may_last(const struct sessions_step *step, uint64_t ttl_ns)
{
        uint64_t max_ns = ruled_ttl_ns(step);

        if (max_ns == 0 || (ttl_ns != 0 && ttl_ns <= max_ns))
                return true;
        if (!step->grant.rules[POLICY_TTL])
                return refuse_event(step->ret, SESSIONS_TOO_LONG, "ttl");
        return refuse_excess(step, POLICY_TTL, ttl_ns ? ttl_ns : POLICY_ANY);
}

void ruled_cap(const struct sessions_step *step, const struct sessions_one *had,
               struct sessions_one *one)
{
        uint64_t most = step->grant.most[POLICY_COMPUTE];

        if (most >= SESSIONS_WHOLE_MILLI_PERCENT || (had && largest_cap_of(had) > most))
                return;
        for (unsigned i = 0; i < one->share_count; i++) {
                if (one->share[i].compute_milli_percent == 0)
                        one->share[i].compute_milli_percent = (uint32_t)most;
        }
}

/* Returns all GPUs of the node that are here, a bit for each, if none of them is allowed to the
 * requester; else 0. */
static uint64_t hopeless(const struct sessions_step *step)
{
        const struct sessions *node = step->node;
        uint64_t here = 0;

        for (unsigned i = 0; i < node->gpu_count; i++) {
                if (node->gpu[i].is_here)
                        here |= UINT64_C(1) << i;
        }
        return here & step->grant.most[POLICY_GPUS] ? 0 : here;
}

bool ruled_may_create(const struct sessions_step *step, const struct sessions_one *one)
{
        static const uint64_t nothing[POLICY_KEYS];
        uint64_t asked[POLICY_KEYS];

        sum_with(step->node, NULL, one, asked);
        asked[POLICY_SESSIONS] += step->event->remains;
        asked[POLICY_GPUS] =
                step->event->wish.is_chosen_here ? hopeless(step) : gpus_of(step->node, one);
        return compare(step, asked, nothing);
}

bool ruled_may_change(const struct sessions_step *step, const struct sessions_one *one,
                      const struct sessions_one *wanted)
{
        uint64_t asked[POLICY_KEYS], had[POLICY_KEYS];

        sum_with(step->node, one, one, had);
        sum_with(step->node, one, wanted, asked);
        return compare(step, asked, had);
}

uint32_t ruled_barred(const struct sessions_step *step)
{
        return (uint32_t)~step->grant.most[POLICY_GPUS];
}
