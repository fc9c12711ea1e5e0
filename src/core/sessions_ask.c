/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests: create, change, renew or release a session.
 *
 * The owner is checked first: a user learns nothing about another owner's session, not even that it
 * exists. Then the request is checked; either all of it is carried out or nothing.
 */
#include "common/minmax.h"
#include "core/sessions_parts.h"

static bool may_ask(const struct sessions_event *event, uint32_t owner_uid)
{
        return event->is_admin || event->uid == 0 || event->uid == owner_uid;
}

/* Returns the entry of the session that the event names. Refuses and returns NOWHERE if there is
 * none for this requester. */
static unsigned entry_asked(const struct sessions_step *step)
{
        unsigned index = entry_named(step->node, step->event->name);

        if (index != NOWHERE && may_ask(step->event, step->node->session[index].owner_uid)) {
                step->ret->session = &step->node->session[index];
                return index;
        }
        refuse_event(step->ret, SESSIONS_UNKNOWN, "name");
        return NOWHERE;
}

static bool is_current(const struct sessions_step *step, const struct sessions_one *one)
{
        if (step->event->version == 0 || step->event->version == one->version)
                return true;
        return refuse_event(step->ret, SESSIONS_STALE, NULL);
}

static bool is_open(const struct sessions_step *step, const struct sessions_one *one)
{
        return one->state == SESSIONS_OPEN || refuse_event(step->ret, SESSIONS_CLOSED, NULL);
}

/* -- How long --------------------------------------------------------------------------------- */

/* Whether the requester may have this ending. It must not be milder than the policy's if TTLs
 * are limited: otherwise programs could stay beyond the maximum TTL with deny-new. */
static bool may_end_so(const struct sessions_step *step, uint8_t ending)
{
        const struct sessions_policy *policy = &step->node->policy;

        if (ruled_ttl_ns(step) == 0 || step->event->is_admin || step->event->uid == 0 ||
            ending >= policy->ending)
                return true;
        return refuse_event(step->ret, SESSIONS_BAD, "on_end");
}

/* Returns the shorter of two TTLs, where 0 means no end. */
static uint64_t shorter_ns(uint64_t a_ns, uint64_t b_ns)
{
        return a_ns != 0 && (b_ns == 0 || a_ns < b_ns) ? a_ns : b_ns;
}

static uint64_t usual_ttl_ns(const struct sessions_step *step)
{
        return shorter_ns(step->node->policy.ttl_ns, ruled_ttl_ns(step));
}

static uint64_t expiry_ns(uint64_t now_ns, uint64_t ttl_ns)
{
        return ttl_ns != 0 ? sum_of(now_ns, ttl_ns) : 0;
}

/* Plans the end of an open session. If actions must be repeated, nothing is planned yet: the
 * repetition plans again. */
static void plan_expiry(const struct sessions_step *step, unsigned index)
{
        if (!step->node->due[index].owed_ns)
                entry_plan(step->node, index, step->now_ns);
}

/* -- CREATE ----------------------------------------------------------------------------------- */

/* Whether the session belongs to root or to the daemon's own user, and may therefore use the
 * last SESSIONS_KEPT entries. */
static bool is_for_admin(const struct sessions_event *event, uint32_t owner_uid)
{
        return owner_uid == 0 || (event->is_admin && owner_uid == event->uid);
}

/* Whether there is a free entry that a session of this owner may use. */
static bool has_entry(const struct sessions_step *step, uint32_t owner_uid)
{
        const uint32_t kept = is_for_admin(step->event, owner_uid) ? 0 : SESSIONS_KEPT;

        return step->node->count + kept < SESSIONS_MAX;
}

static bool may_own_another(const struct sessions_step *step, uint32_t owner_uid)
{
        const struct sessions *node = step->node;
        uint64_t count = step->event->remains;

        if (step->grant.rules[POLICY_SESSIONS]) /* that rule replaces owner_max */
                return true;
        if (node->policy.owner_max == 0 || is_for_admin(step->event, owner_uid))
                return true;
        for (unsigned i = 0; i < node->entries; i++) {
                if (node->session[i].state != SESSIONS_FREE &&
                    node->session[i].owner_uid == owner_uid)
                        count++;
        }
        return count < node->policy.owner_max || refuse_event(step->ret, SESSIONS_FULL, "owner");
}

static bool may_have(const struct sessions_step *step, const struct sessions_one *one)
{
        return may_own_another(step, one->owner_uid) && ruled_may_last(step, one->ttl_ns) &&
               may_end_so(step, one->ending) && ruled_may_create(step, one);
}

/* Fills in what the request does not give. */
static void fill_defaults(const struct sessions_step *step, struct sessions_one *one)
{
        ruled_cap(step, NULL, one);
        if (!(step->event->change_bits & SESSIONS_HAS_TTL))
                one->ttl_ns = usual_ttl_ns(step);
        if (!(step->event->change_bits & SESSIONS_HAS_ENDING))
                one->ending = (uint8_t)step->node->policy.ending;
}

static bool may_create(const struct sessions_step *step, const struct sessions_one *one)
{
        const struct sessions_wish *wish = &step->event->wish;

        if (!check_session(one, wish->is_chosen_here, step->ret))
                return false;
        if (wish->has_choice && wish->choice > SESSIONS_LEAST_LOADED)
                return refuse_event(step->ret, SESSIONS_BAD, "choice");
        if (!may_ask(step->event, one->owner_uid))
                return refuse_event(step->ret, SESSIONS_BAD, "owner");
        if (entry_named(step->node, one->name) != NOWHERE)
                return refuse_event(step->ret, SESSIONS_EXISTS, "name");
        if (!has_entry(step, one->owner_uid))
                return refuse_event(step->ret, SESSIONS_FULL, NULL);
        return may_have(step, one);
}

void ask_create(const struct sessions_step *step)
{
        struct sessions *node = step->node;
        struct sessions_one one = *step->event->session;
        struct sessions_wish wish = step->event->wish;
        unsigned index = entry_free(node);

        wish.barred = ruled_barred(step);
        fill_defaults(step, &one);
        if (!may_create(step, &one) || !room_admit(node, &wish, &one, step->ret))
                return;
        for (unsigned i = 0; i < one.share_count; i++)
                one.share[i].ceiling_bytes = one.share[i].memory_bytes;
        one.state = SESSIONS_OPEN;
        one.created_ns = step->now_ns;
        one.ended_ns = 0;
        one.expires_ns = expiry_ns(step->now_ns, one.ttl_ns);
        one.version = 1;
        entry_remember(node, index);
        entry_fill(node, index, &one);
        entry_plan(node, index, step->now_ns);
        step->ret->session = &node->session[index];
        add_action(step->ret, SESSIONS_SAVE, step->ret->session);
        add_note(step->ret, SESSIONS_NOTE_CREATED, step->ret->session);
        add_action(step->ret, SESSIONS_MAKE, step->ret->session);
}

void sessions_try(struct sessions *node, const struct sessions_event *event,
                  struct sessions_actions *ret)
{
        struct sessions_step step = { .node = node, .event = event, .ret = ret };
        struct sessions_one one = *event->session;

        *ret = (struct sessions_actions){ .answer = SESSIONS_YES };
        sessions_grant(node, event, &step.grant);
        fill_defaults(&step, &one);
        if (!may_ask(event, one.owner_uid))
                refuse_event(ret, SESSIONS_BAD, "owner");
        else if (check_session(&one, event->wish.is_chosen_here, ret))
                may_have(&step, &one);
}

/* -- CHANGE ----------------------------------------------------------------------------------- */

#define SHARE_BITS (SESSIONS_HAS_MEMORY | SESSIONS_HAS_COMPUTE)
#define LIMIT_BITS (SHARE_BITS | SESSIONS_HAS_WEIGHT | SESSIONS_HAS_PRIORITY | SESSIONS_HAS_GANG)

static void change_share(const struct sessions_step *step, struct sessions_share *share,
                         const struct sessions_share *said)
{
        if (step->event->change_bits & SESSIONS_HAS_MEMORY) {
                share->memory_bytes = said->memory_bytes;
                share->ceiling_bytes = max_u64(share->ceiling_bytes, said->memory_bytes);
        }
        if (step->event->change_bits & SESSIONS_HAS_COMPUTE) {
                share->compute_milli_percent = said->compute_milli_percent;
                share->guarantee_milli_percent = said->guarantee_milli_percent;
        }
}

static bool change_shares(const struct sessions_step *step, struct sessions_one *wanted)
{
        const struct sessions_one *said = step->event->session;
        bool is_said[SESSIONS_GPUS] = { false };

        if (said->share_count > SESSIONS_GPUS)
                return refuse_event(step->ret, SESSIONS_BAD, "gpus");
        for (unsigned i = 0; i < said->share_count; i++) {
                unsigned at = share_find(wanted, said->share[i].uuid);

                if (at == wanted->share_count) {
                        memcpy(step->ret->gpu, said->share[i].uuid, sizeof(step->ret->gpu));
                        return refuse_event(step->ret, SESSIONS_NO_GPU, "gpus");
                }
                if (is_said[at])
                        return refuse_event(step->ret, SESSIONS_BAD, "gpus");
                is_said[at] = true;
                change_share(step, &wanted->share[at], &said->share[i]);
        }
        return true;
}

static void change_fields(const struct sessions_step *step, struct sessions_one *wanted)
{
        const struct sessions_one *said = step->event->session;
        uint32_t bits = step->event->change_bits;

        if (bits & SESSIONS_HAS_TTL) {
                wanted->ttl_ns = said->ttl_ns;
                wanted->expires_ns = expiry_ns(step->now_ns, said->ttl_ns);
        }
        if (bits & SESSIONS_HAS_ENDING)
                wanted->ending = said->ending;
        if (bits & SESSIONS_HAS_LABELS)
                memcpy(wanted->labels, said->labels, sizeof(wanted->labels));
        if (bits & SESSIONS_HAS_WEIGHT)
                wanted->weight = said->weight;
        if (bits & SESSIONS_HAS_PRIORITY)
                wanted->priority = said->priority;
        if (bits & SESSIONS_HAS_GANG)
                memcpy(wanted->gang, said->gang, sizeof(wanted->gang));
        raise_version(wanted);
}

static bool may_become(const struct sessions_step *step, const struct sessions_one *one,
                       const struct sessions_one *wanted)
{
        if (!check_session(wanted, false, step->ret))
                return false;
        if ((step->event->change_bits & SESSIONS_HAS_TTL) && !ruled_may_last(step, wanted->ttl_ns))
                return false;
        if ((step->event->change_bits & SESSIONS_HAS_ENDING) && !may_end_so(step, wanted->ending))
                return false;
        return ruled_may_change(step, one, wanted) &&
               room_regrant(step->node, one, wanted, step->ret);
}

void ask_change(const struct sessions_step *step)
{
        unsigned index = entry_asked(step);

        if (index == NOWHERE)
                return;

        struct sessions_one *one = &step->node->session[index];
        struct sessions_one wanted = *one;

        if (!is_open(step, one) || !is_current(step, one))
                return;
        if ((step->event->change_bits & SHARE_BITS) && !change_shares(step, &wanted))
                return;
        if (step->event->change_bits & SESSIONS_HAS_COMPUTE)
                ruled_cap(step, one, &wanted);
        change_fields(step, &wanted);
        if (!may_become(step, one, &wanted))
                return;
        entry_remember(step->node, index);
        *one = wanted;
        plan_expiry(step, index);
        add_action(step->ret, SESSIONS_SAVE, one);
        add_note(step->ret, SESSIONS_NOTE_CHANGED, one);
        if (step->event->change_bits & LIMIT_BITS)
                add_action(step->ret, SESSIONS_LIMIT, one);
}

/* -- RENEW ------------------------------------------------------------------------------------ */

void ask_renew(const struct sessions_step *step)
{
        unsigned index = entry_asked(step);

        if (index == NOWHERE)
                return;

        struct sessions_one *one = &step->node->session[index];
        uint64_t asked_ns = step->event->ttl_ns;
        uint64_t ttl_ns = asked_ns != 0 ? asked_ns : one->ttl_ns;

        if (!is_open(step, one) || (asked_ns != 0 && !ruled_may_last(step, asked_ns)) ||
            ttl_ns == 0)
                return;
        entry_remember(step->node, index);
        if (ttl_ns != one->ttl_ns)
                raise_version(one);
        one->ttl_ns = ttl_ns;
        /* The session's own TTL may be longer than what is allowed now. */
        one->expires_ns = expiry_ns(step->now_ns, shorter_ns(ttl_ns, ruled_ttl_ns(step)));
        plan_expiry(step, index);
        add_action(step->ret, SESSIONS_SAVE, one);
        add_note(step->ret, SESSIONS_NOTE_RENEWED, one);
}

/* -- RELEASE ---------------------------------------------------------------------------------- */

void ask_release(const struct sessions_step *step)
{
        const struct sessions_event *event = step->event;
        unsigned index = entry_asked(step);

        if (index == NOWHERE)
                return;

        struct sessions_one *one = &step->node->session[index];

        if (!event->is_forced && !is_open(step, one))
                return;
        if (!event->is_forced && event->is_busy) {
                refuse_event(step->ret, SESSIONS_BUSY, NULL);
                return;
        }
        if (!is_current(step, one))
                return;
        entry_remember(step->node, index);
        if (one->state != SESSIONS_OPEN) {
                end_kill(step, index);
                return;
        }
        if (!event->is_forced)
                one->ending = SESSIONS_DENY_NEW;
        end_begin(step, index, SESSIONS_NOTE_RELEASED);
}
