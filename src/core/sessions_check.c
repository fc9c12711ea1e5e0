/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks a policy, and the fields of a session, without regard to the rest of the node.
 */
#include "core/sessions_parts.h"

#define RATIO_MIN 100u
#define RATIO_MAX 10000u
#define WEIGHT_MAX 10000u
#define PRIORITY_MAX 2u

const char *sessions_check_policy(const struct sessions_policy *policy)
{
        if (policy->overcommit > SESSIONS_NONE)
                return "overcommit";
        if (policy->overcommit == SESSIONS_RATIO &&
            (policy->ratio_percent < RATIO_MIN || policy->ratio_percent > RATIO_MAX))
                return "ratio";
        if (policy->ending > SESSIONS_KILL)
                return "on_end";
        if (policy->choice > SESSIONS_LEAST_LOADED)
                return "choice";
        if (policy->ttl_max_ns != 0 && policy->ttl_ns > policy->ttl_max_ns)
                return "ttl";
        return NULL;
}

static bool is_text(const char *text, size_t bytes)
{
        return memchr(text, '\0', bytes) != NULL;
}

static const char *check_share(const struct sessions_share *share)
{
        if (share->memory_bytes == 0)
                return "memory";
        if (share->compute_milli_percent > SESSIONS_WHOLE_MILLI_PERCENT)
                return "compute";
        if (share->guarantee_milli_percent > SESSIONS_WHOLE_MILLI_PERCENT)
                return "guarantee";
        if (share->compute_milli_percent != 0 &&
            share->guarantee_milli_percent > share->compute_milli_percent)
                return "guarantee";
        return NULL;
}

/* Whether each share has a UUID, and no GPU is named twice. */
static bool are_gpus_named(const struct sessions_one *one)
{
        static const uint8_t nobody[16];

        for (unsigned i = 0; i < one->share_count; i++) {
                if (uuid_is_same(one->share[i].uuid, nobody))
                        return false;
                for (unsigned j = 0; j < i; j++) {
                        if (uuid_is_same(one->share[i].uuid, one->share[j].uuid))
                                return false;
                }
        }
        return true;
}

static const char *check_shares(const struct sessions_one *one, bool is_chosen_here)
{
        if (one->share_count == 0 || one->share_count > SESSIONS_GPUS)
                return "gpus";
        for (unsigned i = 0; i < one->share_count; i++) {
                const char *field = check_share(&one->share[i]);

                if (field)
                        return field;
        }
        return is_chosen_here || are_gpus_named(one) ? NULL : "gpus";
}

static const char *check_fields(const struct sessions_one *one)
{
        if (one->name[0] == '\0' || !is_text(one->name, sizeof(one->name)))
                return "name";
        if (!is_text(one->gang, sizeof(one->gang)))
                return "gang";
        if (!is_text(one->labels, sizeof(one->labels)))
                return "labels";
        if (!is_text(one->container.profile, sizeof(one->container.profile)) ||
            !is_text(one->container.id, sizeof(one->container.id)) ||
            !is_text(one->container.cgroup, sizeof(one->container.cgroup)))
                return "container";
        if (one->weight == 0 || one->weight > WEIGHT_MAX)
                return "weight";
        if (one->priority > PRIORITY_MAX)
                return "priority";
        if (one->ending > SESSIONS_KILL)
                return "on_end";
        if (one->swaps && (one->host_bytes != 0 || one->share_count > 1))
                return "swap";
        return NULL;
}

bool check_session(const struct sessions_one *one, bool is_chosen_here,
                   struct sessions_actions *ret)
{
        const char *field = check_fields(one);

        if (!field)
                field = check_shares(one, is_chosen_here);
        return field ? refuse_event(ret, SESSIONS_BAD, field) : true;
}
